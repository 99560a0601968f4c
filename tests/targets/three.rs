// three_rs [SECONDS]: as three.c, in a module and behind a trait.
use std::time::{Duration, Instant};

// As that of std::hint, which is younger than the compilers of some systems.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe {
        let copy = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        copy
    }
}

mod shares {
    use std::sync::atomic::{AtomicU64, Ordering};

    const TENTH: u64 = 2_000;
    static STATE: AtomicU64 = AtomicU64::new(1);

    // As varied() of target.h, and for its reason.
    fn varied(n: u64) -> u64 {
        let state = STATE
            .load(Ordering::Relaxed)
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        STATE.store(state, Ordering::Relaxed);
        n / 2 + (state >> 33) % n
    }

    // The loop of target.h: rustc aligns and counts like the C compilers then.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn spin(n: u64) {
        unsafe {
            core::arch::asm!(".p2align 6", "2: dec {0}", "jnz 2b", inout(reg) n => _, options(nomem, nostack));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn spin(n: u64) {
        for i in 0..n {
            super::black_box(i);
        }
    }

    pub trait Work {
        fn turn(&self);
    }

    pub struct Worker<T>(pub T);

    impl<T: Copy + Into<u64>> Worker<T> {
        #[inline(never)]
        pub fn sixty(&self, tenth: u64) {
            spin(6 * tenth * self.0.into());
        }
        #[inline(never)]
        pub fn thirty(&self, tenth: u64) {
            spin(3 * tenth * self.0.into());
        }
        #[inline(never)]
        pub fn ten(&self, tenth: u64) {
            spin(tenth * self.0.into());
        }
    }

    impl<T: Copy + Into<u64>> Work for Worker<T> {
        #[inline(never)]
        fn turn(&self) {
            let tenth = varied(TENTH);
            self.sixty(tenth);
            self.thirty(tenth);
            self.ten(tenth);
            super::black_box(self as *const _ as u64);
        }
    }
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok());
    let end = seconds.map(|s| Instant::now() + Duration::from_secs(s));
    let work: Box<dyn shares::Work> = Box::new(shares::Worker(1u32));
    while end.map_or(true, |e| Instant::now() < e) {
        black_box(&work).turn();
    }
}
