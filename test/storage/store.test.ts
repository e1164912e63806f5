import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/kernel/clock.ts'
import { isDomainError } from '../../src/kernel/errors.ts'
import { openLocalStore } from '../../src/storage/local/store.ts'
import { fileKey, payloadKey, RESULTS, resultKey } from '../../src/storage/object-key.ts'
import { createS3Store } from '../../src/storage/s3/store.ts'
import { createSealedObjects } from '../../src/storage/sealed-objects.ts'
import type { ObjectStore } from '../../src/storage/types.ts'
import { startS3Server } from '../helpers/s3-server.ts'

/** What every store must be true of. */

const PART_BYTES = 256 * 1024
const MAX_BYTES = 3 * PART_BYTES

async function local(t: Test): Promise<ObjectStore> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-objects-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return openLocalStore({
    clock: systemClock,
    directory,
    secret: 'a secret',
    baseUrl: () => 'http://gateway.example',
    maxObjectBytes: MAX_BYTES,
  })
}

async function s3(t: Test): Promise<ObjectStore> {
  const server = await startS3Server()
  const store = createS3Store({
    ...server.options,
    clock: systemClock,
    maxObjectBytes: MAX_BYTES,
    limits: { partBytes: PART_BYTES },
  })
  t.teardown(async () => {
    await store.close()
    await server.stop()
  })
  return store
}

async function bytesOf(store: ObjectStore, key: string): Promise<Buffer | undefined> {
  const found = await store.open(key)
  return found && buffer(found.body)
}

/** Bytes that differ everywhere, so that what is moved or missing shows. */
function pattern(sizeBytes: number): Buffer {
  const bytes = Buffer.alloc(sizeBytes)
  for (let at = 0; at + 4 <= sizeBytes; at += 4) bytes.writeUInt32LE(at ^ 0x5bd1e995, at)
  return bytes
}

/** As it comes from a socket. */
function* pieces(bytes: Buffer, pieceBytes = 60_000): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

async function keysOf(store: ObjectStore, prefix: string, after?: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix, after)) keys.push(key)
  return keys
}

for (const [name, open] of Object.entries({ local, s3 }))
  void t.test(`a store: ${name}`, async (t) => {
    const store = await open(t)

    await t.test('an object is read whole, with the type of its key', async (t) => {
      const key = resultKey(Date.parse('2026-11-22T13:59:59Z'), 'a_random-name', 'image/png')
      t.equal(key, 'results/2026-11-22T13/a_random-name.png')
      for (const bytes of [pattern(70_000), Buffer.alloc(0), pattern(10)]) {
        await store.put(key, bytes, { sizeBytes: bytes.length })
        const found = await store.open(key)
        t.match(found, { sizeBytes: bytes.length, contentType: 'image/png' })
        t.ok(bytes.equals(await buffer(found!.body)), 'the last one put')
      }
      t.equal((await store.open(key, { firstByte: 2, lastByte: 5 }))?.sizeBytes, 10)
      const range = async (firstByte: number, lastByte?: number) => {
        const asked = { firstByte, ...(lastByte === undefined ? {} : { lastByte }) }
        return buffer((await store.open(key, asked))!.body)
      }
      t.same(await range(2, 5), pattern(10).subarray(2, 6))
      t.same(await range(7), pattern(10).subarray(7))
      t.same(await range(0, 1), pattern(10).subarray(0, 2))
      // Never read, and let go.
      const left = await store.open(key)
      left?.body.destroy()
    })

    await t.test('a stream of any size is stored, also without a stated size', async (t) => {
      for (const sizeBytes of [
        0,
        5,
        PART_BYTES - 1,
        PART_BYTES,
        2 * PART_BYTES,
        2 * PART_BYTES + 7,
      ]) {
        const bytes = pattern(sizeBytes)
        await store.put(fileKey('file-1'), Readable.from(pieces(bytes)))
        t.ok(bytes.equals((await bytesOf(store, 'files/file-1'))!), `${sizeBytes} bytes`)
      }
    })

    await t.test(
      'an upload that breaks off, is too large or misses its size leaves no object',
      async (t) => {
        const key = fileKey('file-2')
        const broken = async function* () {
          yield* pieces(pattern(PART_BYTES * 2))
          throw new Error('the caller hung up')
        }
        const tooLarge = pattern(MAX_BYTES + 1)
        await t.rejects(store.put(key, Readable.from(broken())), { message: 'the caller hung up' })
        for (const body of [tooLarge, Readable.from(pieces(tooLarge))])
          await t.rejects(store.put(key, body), {
            code: 'object_too_large',
            details: { limitBytes: MAX_BYTES },
          })
        const said = { sizeBytes: PART_BYTES + 1 }
        for (const sizeBytes of [3, PART_BYTES, PART_BYTES * 2])
          await t.rejects(store.put(key, Readable.from(pieces(pattern(sizeBytes))), said), {
            name: 'IncompleteBodyError',
          })
        t.equal(await store.open(key), undefined)
        await store.put(key, pattern(9))
        await t.rejects(store.put(key, Readable.from(broken())))
        t.same(await bytesOf(store, key), pattern(9), 'the one before stays')
      },
    )

    await t.test('a removed object is gone, and may be removed again', async (t) => {
      const key = payloadKey('image_1')
      await store.put(key, pattern(9))
      await store.remove(key)
      await store.remove(key)
      t.equal(await store.open(key), undefined)
      await store.put(key, pattern(3))
      t.same(await bytesOf(store, key), pattern(3))
    })

    await t.test('a list is in the order of keys, from any start', async (t) => {
      const keys = [
        'results/2026-11-22T13/b',
        'results/2026-11-22T13/a.b',
        'results/2026-11-22T13x/y',
      ]
      keys.push('results/2026-11-22T13/A', 'results/2026-11-21T09/z', 'results/2026-11-22T14/0')
      await Promise.all(keys.map((key) => store.put(key, pattern(8))))
      await store.remove('results/2026-11-22T13/a_random-name.png')
      const sorted = [...keys].sort()
      t.same(await keysOf(store, RESULTS), sorted)
      for (const [index, key] of sorted.entries())
        t.same(await keysOf(store, RESULTS, key), sorted.slice(index + 1))
      t.same(await keysOf(store, 'results/2026-11-22T13/'), sorted.slice(1, 4))
      t.same(await keysOf(store, 'nothing/'), [])
      for await (const one of store.list('results/2026-11-21'))
        t.match(one, { sizeBytes: 8, modifiedAtMs: Number })
    })

    await t.test('two uploads at once under one key leave one of them, complete', async (t) => {
      const bodies = [pattern(50_000), pattern(90_000)]
      await Promise.all(bodies.map((body) => store.put('files/file-3', body)))
      const kept = await bytesOf(store, 'files/file-3')
      t.ok(bodies.some((body) => body.equals(kept!)))
    })

    await t.test('an invalid key is refused by every operation', async (t) => {
      const parts = ['..', '.', '', '.hidden', 'a b', 'a\0', 'ä', 'x'.repeat(300), '%2e%2e', '\\']
      const names = parts.flatMap((part) => [`files/${part}`, `files/${part}/a`, `${part}/files`])
      for (const key of [...names, 'files', '/files/a', 'a/b/c/d/e', 'files/a\n']) {
        await t.rejects(store.put(key, pattern(1)), RangeError, JSON.stringify(key))
        await t.rejects(store.open(key), RangeError)
        await t.rejects(store.remove(key), RangeError)
        await t.rejects(store.publicUrl(key, Date.now() + 1_000), RangeError)
      }
    })

    await t.test('a sealed object is readable by the gateway only, and if unchanged', async (t) => {
      const sealed = createSealedObjects(store, 'the secret', 'payload')
      const key = payloadKey('image_2')
      for (const sizeBytes of [0, 1, 65_536, 65_537, 300_000]) {
        const bytes = pattern(sizeBytes)
        await sealed.put(key, sizeBytes % 2 === 0 ? bytes : Readable.from(pieces(bytes, 999)))
        t.ok(bytes.equals(await buffer((await sealed.open(key))!)), `${sizeBytes} bytes`)
      }
      const kept = (await bytesOf(store, key))!
      t.notOk(kept.includes(pattern(300_000).subarray(0, 64)), 'nothing of it can be seen')
      t.equal(await sealed.open('payloads/none'), undefined)
      const refused = async (what: string, bytes: Buffer, as = key, secret = 'the secret') => {
        await store.put(as, bytes)
        const found = await createSealedObjects(store, secret, 'payload').open(as)
        await t.rejects(buffer(found!), { code: 'storage_unavailable' }, what)
      }
      const sealedSegment = 65_536 + 16
      const flipped = (at: number): Buffer => {
        const changed = Buffer.from(kept)
        changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
        return changed
      }
      for (const at of [0, 32, 70_000, kept.length - 1]) await refused('changed', flipped(at))
      await refused('cut between segments', kept.subarray(0, 32 + sealedSegment))
      await refused('cut within one', kept.subarray(0, 100_000))
      for (const sizeBytes of [0, 31, 32, 40])
        await refused('cut short', kept.subarray(0, sizeBytes))
      await refused('longer', Buffer.concat([kept, Buffer.alloc(20)]))
      const [head, one, two] = [0, 32, 32 + sealedSegment].map((at, index) =>
        kept.subarray(at, index === 0 ? 32 : at + sealedSegment),
      )
      const rest = kept.subarray(32 + 2 * sealedSegment)
      await refused('moved', Buffer.concat([head!, two!, one!, rest]))
      await refused('of another name', kept, payloadKey('image_3'))
      await refused('of another secret', kept, key, 'another')
    })

    await t.test('an object has one public URL', async (t) => {
      const url = await store.publicUrl('results/2026-11-22T13/b', Date.now() + 60_000)
      t.match(url, /\/results\/2026-11-22T13\/b\?.*signature=[\w-]{43,}$/i)
      t.notMatch(url, /S3RVER$|a secret/)
      t.ok(
        isDomainError(await store.put('files/x', pattern(MAX_BYTES + 1)).catch((e: unknown) => e)),
      )
    })
  })
