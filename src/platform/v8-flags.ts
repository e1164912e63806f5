import { setFlagsFromString } from 'node:v8'

/** V8's name of the option that is turned off. */
export const PRETENURING = 'allocation-site-pretenuring'

/**
 * Keeps V8 from allocating new objects in the old generation. It would do so for objects that often
 * live long, as every stream waiting for its next frame, and each keeps what it points to until the
 * whole heap is collected: a thousand streams took half as much memory again, an audit a tenth more
 * time.
 */
export function keepNewObjectsYoung(): void {
  setFlagsFromString(`--no-${PRETENURING}`)
}

/** V8's name of the growth that is bounded. */
export const GROWTH = 'heap-growing-percent'
const GROWTH_PERCENT = 30

/**
 * The old generation is collected once it has grown by a third. V8 would let it grow up to
 * fourfold: with ten thousand tasks in flight a gateway took 440 MiB instead of 330. At four
 * thousand calls a second collecting costs each about a microsecond more.
 */
export function boundHeapGrowth(): void {
  setFlagsFromString(`--${GROWTH}=${GROWTH_PERCENT}`)
}

/** V8's name of the size of half of a young generation, in MiB. */
export const HALF_YOUNG = 'max-semi-space-size'
/** V8's name of the option by which threads collect the young generation together. Each thread keeps pages. */
export const PARALLEL = 'parallel-scavenge'

/** V8's name of the size, in MiB, at which the old generation of a new process is collected first. */
export const FIRST_OLD = 'initial-old-space-size'

/** V8's name of the option that adds the function `gc`. */
export const COLLECTOR = 'expose-gc'

/** The first version whose `gc` takes an object that says how to collect; Node 20 has 11, Node 22 has 12. */
const FIRST_V8_WITH_OPTIONS = 12

/** Bounds of a heap. */
export interface HeapBounds {
  /** Half of the young generation; the smaller, the more of what lives briefly is copied. */
  readonly halfYoungMib: number
  /** The old generation is first collected at this size; absent: at a few MiB. */
  readonly firstOldMib?: number
  /** The old generation is collected once it has grown by this; absent: when V8 thinks best. */
  readonly growthPercent?: number
}

/**
 * Arguments of node for a process with a bounded heap: V8 takes the bound of the young generation, and the option
 * for `releaseStartMemory`, only when a process starts.
 */
export function boundedHeap(bounds: HeapBounds): readonly string[] {
  const { halfYoungMib, firstOldMib, growthPercent } = bounds
  return [
    `--${HALF_YOUNG}=${halfYoungMib}`,
    `--no-${PARALLEL}`,
    `--no-${PRETENURING}`,
    `--${COLLECTOR}`,
    ...(firstOldMib === undefined ? [] : [`--${FIRST_OLD}=${firstOldMib}`]),
    ...(growthPercent === undefined ? [] : [`--${GROWTH}=${growthPercent}`]),
  ]
}

/**
 * Variables of a process whose C library gives back what is freed: glibc would keep a part for each thread, and large
 * buffers among small objects that outlive them, once it has seen such a buffer freed.
 */
export const mallocBounds = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '131072' } as const

/**
 * With a smaller young generation, 128 callers at once fill it so fast that more of each call is copied. The code that a
 * start loads fits into the first size of the old one: without it, V8 looks through all that is loaded again and again
 * meanwhile, which takes 0.3 s of processor time.
 */
const GATEWAY: HeapBounds = { halfYoungMib: 16, firstOldMib: 96, growthPercent: GROWTH_PERCENT }

/**
 * Gives back what the start of a process needed and nothing uses any more: code that ran once, pages of dead
 * objects. V8 itself would do so only where memory runs out. It stops the process for 15 to 75 ms, so it belongs before
 * a process is ready. Without the argument that adds it nothing is done: a context made for it alone makes V8
 * compile the code of calls again and again.
 */
export function releaseStartMemory(collect: typeof globalThis.gc = globalThis.gc): void {
  // To the V8 of Node 20 any argument means the young generation alone.
  if (Number.parseInt(process.versions.v8, 10) < FIRST_V8_WITH_OPTIONS) collect?.()
  else collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** Replaces this process by itself with other arguments; variables stay. */
type Execve = (file: string, args: readonly string[]) => never

/**
 * Goes on in this process as if it had been started with a bounded heap. Nothing changes where its young
 * generation is bounded already, before Node 22.15, which cannot do that, and where a parent has a channel to the
 * process, which would be lost.
 *
 * @param nodeOptions Node's own variable, `NODE_OPTIONS`
 */
export function restartWithBoundedHeap(nodeOptions = ''): void {
  const { execve } = process as { readonly execve?: Execve }
  const given = [...process.execArgv, nodeOptions].join(' ')
  if (given.includes(HALF_YOUNG) || execve === undefined || process.connected) return
  const args = [...process.execArgv, ...boundedHeap(GATEWAY), ...process.argv.slice(1)]
  execve(process.execPath, [process.execPath, ...args])
}
