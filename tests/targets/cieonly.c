/* cieonly: see its other half. */
void data_in_bp(void);

int main(void)
{
	for (;;)
		data_in_bp();
}
