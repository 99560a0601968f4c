// java Hot [SECONDS]: runJava calls burnJava, which does all the work.
public class Hot {
	static volatile long sink;

	static void burnJava(int n) {
		for (int i = 0; i < n; i++)
			sink += i;
	}

	static void runJava(long end) {
		while (System.currentTimeMillis() < end)
			burnJava(100000);
	}

	public static void main(String[] args) {
		long seconds = args.length > 0 ? Long.parseLong(args[0]) : 1000000000L;

		runJava(System.currentTimeMillis() + 1000 * seconds);
	}
}
