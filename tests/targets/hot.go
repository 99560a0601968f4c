// hot: work calls burn, in a goroutine of its own; both may have grown the stack that they are on.
package main

var sink int

//go:noinline
func burn(n int) int {
	x := 0
	for i := 0; i < n; i++ {
		x += i * i
	}
	return x
}

//go:noinline
func work(depth int) int {
	if depth > 0 {
		return work(depth-1) + 1
	}
	return burn(100000)
}

func main() {
	done := make(chan int)
	go func() {
		for {
			sink += work(20)
		}
	}()
	<-done
}
