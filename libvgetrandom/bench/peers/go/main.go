// SPDX-License-Identifier: MIT OR Apache-2.0

// Times the sources from which Go programs draw their random numbers.
//
// A worker as described in bench/workers/worker.h; the argument names the source.
package main

import (
	"bytes"
	cryptorand "crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Draws are checked in pieces of this size, which never repeat by chance.
const piece = 16

// Fills buf count times.
type source func(buf []byte, count uint64)

func crypto() source {
	return func(buf []byte, count uint64) {
		for range count {
			cryptorand.Read(buf)
		}
	}
}

// Words come from the functions of the package, which any goroutine may call. These functions
// give no bytes, so bytes come from a generator of the goroutine's own.
func chacha8() source {
	var seed [32]byte
	cryptorand.Read(seed[:])
	own := rand.NewChaCha8(seed)
	return func(buf []byte, count uint64) {
		switch len(buf) {
		case 4:
			for range count {
				binary.NativeEndian.PutUint32(buf, rand.Uint32())
			}
		case 8:
			for range count {
				binary.NativeEndian.PutUint64(buf, rand.Uint64())
			}
		default:
			for range count {
				own.Read(buf)
			}
		}
	}
}

// Small draws fill one piece together.
func fill(draws source, buf []byte, size int) {
	for done := 0; done < len(buf); done += size {
		draws(buf[done:done+size], 1)
	}
}

// Whether each piece of a is neither zero nor the same as in b.
func differ(a, b []byte) bool {
	zero := make([]byte, piece)
	for i := 0; i+piece <= len(a); i += piece {
		part := a[i : i+piece]
		if bytes.Equal(part, zero) || bytes.Equal(part, b[i:i+piece]) {
			return false
		}
	}
	return true
}

type span struct {
	begin, end time.Time
}

func run(draws source, size int, count uint64, threads int32, arrived *atomic.Int32) span {
	buf := make([]byte, max(size, piece))
	before := make([]byte, len(buf))
	fill(draws, before, size)
	draws(buf[:size], max(count/16, 1))
	arrived.Add(1)
	for arrived.Load() < threads {
		runtime.Gosched()
	}
	begin := time.Now()
	draws(buf[:size], count)
	end := time.Now()
	if size < piece {
		fill(draws, buf, size)
	}
	if !differ(buf, before) {
		fail("the bytes are not random")
	}
	return span{begin, end}
}

// Returns the time from the first thread's start to the last thread's end.
func timeRun(newSource func() source, size int, count uint64, threads int) time.Duration {
	spans := make([]span, threads)
	var arrived atomic.Int32
	var running sync.WaitGroup
	for i := 1; i < threads; i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			runtime.LockOSThread()
			spans[i] = run(newSource(), size, count, int32(threads), &arrived)
		}()
	}
	spans[0] = run(newSource(), size, count, int32(threads), &arrived)
	running.Wait()
	whole := spans[0]
	for _, one := range spans {
		if one.begin.Before(whole.begin) {
			whole.begin = one.begin
		}
		if one.end.After(whole.end) {
			whole.end = one.end
		}
	}
	return whole.end.Sub(whole.begin)
}

func serve(newSource func() source) {
	fmt.Println("ready")
	for {
		var size, threads int
		var count uint64
		_, err := fmt.Scanln(&size, &threads, &count)
		if err == io.EOF {
			return
		}
		if err != nil || size < 1 || threads < 1 || count < 1 {
			fail("a line is not SIZE THREADS COUNT")
		}
		fmt.Println(timeRun(newSource, size, count, threads).Nanoseconds())
	}
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

func main() {
	sources := map[string]func() source{"crypto": crypto, "chacha8": chacha8}
	if len(os.Args) != 2 || sources[os.Args[1]] == nil {
		fail("the argument is crypto or chacha8")
	}
	serve(sources[os.Args[1]])
}
