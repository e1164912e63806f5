import { setFlagsFromString } from 'node:v8'

/** V8's own name of what is turned off. */
export const PRETENURING = 'allocation-site-pretenuring'

/**
 * For processes that live long: nothing new is put among what is old. V8 would move there what calls
 * allocate while they wait for a next frame, and every such object keeps what it points to until all
 * of the heap is collected: a thousand streams took half as much memory again.
 */
export function keepNewObjectsYoung(): void {
  setFlagsFromString(`--no-${PRETENURING}`)
}
