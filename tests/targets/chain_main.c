/* Calls the chain_entry of chain.c in a library. */
int chain_entry(void);

int main(void)
{
	return chain_entry() + 1;
}
