import { LRUCache } from 'lru-cache'

const ONE = () => 1

/**
 * A cache of the `max` entries that were used last. It grows as it is filled: the library's own `max` allocates every
 * place at once, megabytes of empty places over the caches of a process, which each full garbage collection scans.
 */
export function createLru<
  Key extends string | bigint | number,
  Value extends object | string | number | bigint | boolean,
>(max: number): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: max, sizeCalculation: ONE })
}
