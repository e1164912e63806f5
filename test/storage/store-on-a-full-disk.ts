import { systemClock } from '../../src/kernel/clock.ts'
import { openLocalStore } from '../../src/storage/local/store.ts'

/**
 * A process whose files may not grow: it stores a large object, then a small one, and prints the
 * results.
 */
const [, , directory = ''] = process.argv
const store = await openLocalStore({
  clock: systemClock,
  directory,
  secret: 'a secret',
  baseUrl: () => undefined,
})
const put = (key: string, sizeBytes: number): Promise<unknown> =>
  store.put(key, Buffer.alloc(sizeBytes, 7)).then(
    () => 'kept',
    (error: unknown) => Reflect.get(Object(error), 'details'),
  )
const large = await put('files/large', 1_000_000)
const small = await put('files/small', 10)
process.stdout.write(JSON.stringify({ large, small }))
process.exit(0)
