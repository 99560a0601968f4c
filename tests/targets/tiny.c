/* libtiny.so, for pltcaller. */
int pl_tiny(int x);
int pl_tiny(int x)
{
	return x + 1;
}
