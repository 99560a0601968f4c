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
    const TENTH: u64 = 2_000;

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
        pub fn sixty(&self) {
            spin(6 * TENTH * self.0.into());
        }
        #[inline(never)]
        pub fn thirty(&self) {
            spin(3 * TENTH * self.0.into());
        }
        #[inline(never)]
        pub fn ten(&self) {
            spin(TENTH * self.0.into());
        }
    }

    impl<T: Copy + Into<u64>> Work for Worker<T> {
        #[inline(never)]
        fn turn(&self) {
            self.sixty();
            self.thirty();
            self.ten();
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
