;; Finds what ends a JSON string, 64 bytes at a time. npm run wasm makes text-stop-wasm.ts of it.
(module
  ;; What is read lies at 0. Of the table, a byte is 0 where its index may stand behind a backslash by itself, else 1.
  (memory (export "memory") 2)
  (data (i32.const 130816)
    "\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01"
    "\01\01\00\01\01\01\01\01\01\01\01\01\01\01\01\00\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01"
    "\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\00\01\01\01"
    "\01\01\00\01\01\01\00\01\01\01\01\01\01\01\00\01\01\01\00\01\00\01\01\01\01\01\01\01\01\01\01\01"
    "\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01"
    "\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01"
    "\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01"
    "\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01\01")

  ;; Index of the first unescaped quote, of the first control character or of the first byte behind a backslash that is
  ;; more than an escape by itself (the u) or none, whichever comes first; not below $end where there is none.
  ;; $at: not itself escaped. Up to 63 bytes behind $end are read.
  (func (export "stop") (param $at i32) (param $end i32) (result i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $stops i64) (local $slashes i64) (local $carry i64)
    (local $follows i64) (local $runs i64) (local $escaped i64) (local $index i64)
    (block $done
      (loop $blocks
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $a (v128.load (local.get $at)))
        (local.set $b (v128.load offset=16 (local.get $at)))
        (local.set $c (v128.load offset=32 (local.get $at)))
        (local.set $d (v128.load offset=48 (local.get $at)))
        (local.set $stops (call $bits
          (call $ends (local.get $a)) (call $ends (local.get $b))
          (call $ends (local.get $c)) (call $ends (local.get $d))))
        (local.set $slashes (call $bits
          (call $is_slash (local.get $a)) (call $is_slash (local.get $b))
          (call $is_slash (local.get $c)) (call $is_slash (local.get $d))))
        (if (i64.ne (i64.or (local.get $slashes) (local.get $carry)) (i64.const 0))
          (then
            ;; Which bytes a backslash escapes, without a branch for each: Langdale and Lemire, "Parsing gigabytes of
            ;; JSON per second" (2019), 3.1.1. The carry is that of a run of backslashes into the next block.
            (local.set $slashes (i64.and (local.get $slashes) (i64.xor (local.get $carry) (i64.const -1))))
            (local.set $follows (i64.or (i64.shl (local.get $slashes) (i64.const 1)) (local.get $carry)))
            (local.set $runs (i64.add (local.get $slashes)
              (i64.and (local.get $slashes) (i64.and (i64.const 0xaaaaaaaaaaaaaaaa)
                (i64.xor (local.get $follows) (i64.const -1))))))
            (local.set $carry (i64.extend_i32_u (i64.lt_u (local.get $runs) (local.get $slashes))))
            (local.set $escaped (i64.and (local.get $follows)
              (i64.xor (i64.const 0x5555555555555555) (i64.shl (local.get $runs) (i64.const 1)))))
            (local.set $stops (i64.and (local.get $stops) (i64.xor (local.get $escaped) (i64.const -1))))
            (block $checked
              (loop $each
                (br_if $checked (i64.eqz (local.get $escaped)))
                (local.set $index (i64.ctz (local.get $escaped)))
                (local.set $escaped (i64.and (local.get $escaped) (i64.sub (local.get $escaped) (i64.const 1))))
                (local.set $stops (i64.or (local.get $stops) (i64.shl
                  (i64.load8_u offset=130816 (i32.load8_u (i32.add (local.get $at) (i32.wrap_i64 (local.get $index)))))
                  (local.get $index))))
                (br $each)))))
        (if (i64.ne (local.get $stops) (i64.const 0))
          (then (return (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $stops)))))))
        (local.set $at (i32.add (local.get $at) (i32.const 64)))
        (br $blocks)))
    (local.get $at))

  ;; The quote and control characters.
  (func $ends (param $v v128) (result v128)
    (v128.or
      (i8x16.eq (local.get $v) (i8x16.splat (i32.const 0x22)))
      (i8x16.lt_u (local.get $v) (i8x16.splat (i32.const 0x20)))))

  (func $is_slash (param $v v128) (result v128)
    (i8x16.eq (local.get $v) (i8x16.splat (i32.const 0x5c))))

  ;; A bit for each of 64 bytes, from their high bits.
  (func $bits (param $a v128) (param $b v128) (param $c v128) (param $d v128) (result i64)
    (i64.or
      (i64.or
        (i64.extend_i32_u (i8x16.bitmask (local.get $a)))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $b))) (i64.const 16)))
      (i64.or
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $c))) (i64.const 32))
        (i64.shl (i64.extend_i32_u (i8x16.bitmask (local.get $d))) (i64.const 48)))))
)
