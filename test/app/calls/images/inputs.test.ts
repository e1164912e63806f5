import { catalog } from '../../../../src/families/index.ts'
import sharp from 'sharp'
import t from 'tap'
import { createFetchRooms, readyImages } from '../../../../src/app/calls/images/inputs.ts'
import type { ImageCallInput } from '../../../../src/app/calls/images/types.ts'
import type { ImageInput } from '../../../../src/domain/catalog/image-rules.ts'
import { readGenOrder } from '../../../../src/families/gen/rules/request.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { FetchFault, type FetchPublic } from '../../../../src/kernel/public-fetch.ts'
import { order, png } from '../../../families/image/rules/orders.ts'
import { principalOf } from '../../support/world.ts'

const UNDER_BYTES = 1_000
const never = new AbortController().signal
const remote = (url: string): ImageInput => ({
  from: 'remote',
  url,
  param: `image_urls[${url}]`,
  underBytes: UNDER_BYTES,
})

function asked(inputs: readonly ImageInput[], fields = {}): ImageCallInput {
  const model = 'gen-3-pro-image-preview'
  const read = readGenOrder(
    order({ ...fields, images: [{ file_id: 'x' }] }, { kind: 'edit', model }),
  )
  return {
    principal: principalOf('tenant_1'),
    family: 'gen',
    surface: 'v1.images.edits',
    requestId: 'req_1',
    model,
    callerGone: never,
    request: { ...read, inputs },
  }
}

/** What a URL leads to, by its text. */
const fetching =
  (found: Readonly<Record<string, Uint8Array | FetchFault>>): FetchPublic =>
  async (url, { signal, maxBytes }) => {
    t.equal(maxBytes, UNDER_BYTES - 1)
    const what = found[url]
    if (what instanceof Uint8Array) return Promise.resolve(what)
    if (what !== undefined) throw what
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new FetchFault('aborted', 'was left')))
    })
  }

const noFile = (): never => {
  throw new Error('no file is asked for')
}
const sized = { size: '1K' }
const room = () => createFetchRooms().enter()

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((thrown: unknown) => thrown)
  return isDomainError(error) ? `${error.code} ${String(error.details['param'])}` : String(error)
}

void t.test(
  'an image that cannot be fetched is refused by its index, without waiting for others',
  async (t) => {
    const faults = [
      ['not_public', 'invalid_request image_urls[a]'],
      ['unreachable', 'invalid_request image_urls[a]'],
      ['timeout', 'invalid_request image_urls[a]'],
      ['too_large', 'image_too_large image_urls[a]'],
      ['aborted', 'overloaded undefined'],
    ] as const
    for (const [reason, code] of faults) {
      const fetchPublic = fetching({ a: new FetchFault(reason, 'says why') })
      const work = readyImages(
        { catalog, fetchPublic, openImageFile: noFile },
        asked([remote('a'), remote('never comes')], sized),
        room(),
        never,
      )
      t.equal(await codeOf(work), code, reason)
    }
  },
)

void t.test('fetched bytes are accepted as a picture by their content only', async (t) => {
  const fetchPublic = fetching({ a: png, b: new Uint8Array(Buffer.from('<html>')) })
  const deps = { catalog, fetchPublic, openImageFile: noFile }
  const ready = await readyImages(deps, asked([remote('a')], sized), room(), never)
  t.match(ready, { inputs: [{ from: 'upload', mediaType: 'image/png' }], body: { size: '1K' } })
  t.equal(
    await codeOf(readyImages(deps, asked([remote('a'), remote('b')], sized), room(), never)),
    'invalid_request image_urls[b]',
  )
})

void t.test('an uploaded file is bounded by size like inline image data', async (t) => {
  const bytes = new Uint8Array(UNDER_BYTES)
  const deps = {
    catalog,
    fetchPublic: fetching({}),
    openImageFile: async () =>
      Promise.resolve({ from: 'upload', bytes, mediaType: 'image/png' } as const),
  }
  const file = { from: 'file', fileId: 'file_1', param: 'images[0].file_id' } as const
  const large = asked([{ ...file, underBytes: UNDER_BYTES }], sized)
  t.equal(
    await codeOf(readyImages(deps, large, room(), never)),
    'image_too_large images[0].file_id',
  )
  t.match(await readyImages(deps, asked([file], sized), room(), never), { inputs: [{ bytes }] })
})

void t.test('a size left to the base picture is read from the picture’s header', async (t) => {
  const bytes = await sharp({
    create: { width: 1600, height: 1200, channels: 3, background: 'red' },
  })
    .webp()
    .toBuffer()
  const base = { from: 'upload', bytes, mediaType: 'image/webp' } as const
  const deps = { catalog, fetchPublic: fetching({}), openImageFile: noFile }
  t.match(await readyImages(deps, asked([base]), room(), never), { body: { size: '2K' } })
  const broken = { from: 'upload', bytes: png, mediaType: 'image/png' } as const
  t.equal(await codeOf(readyImages(deps, asked([broken]), room(), never)), 'invalid_request size')
})

void t.test('fetched pictures are held within a bound, until their call is over', async (t) => {
  const rooms = createFetchRooms(2 * UNDER_BYTES)
  const deps = { catalog, fetchPublic: fetching({ a: png }), openImageFile: noFile }
  const first = rooms.enter()
  await readyImages(deps, asked([remote('a'), remote('a')], sized), first, never)
  const second = rooms.enter()
  // Of what was taken for them only what came is still held.
  await readyImages(deps, asked([remote('a')], sized), second, never)
  t.equal(
    await codeOf(readyImages(deps, asked([remote('a'), remote('a')], sized), second, never)),
    'overloaded undefined',
  )
  second.leave()
  second.give(UNDER_BYTES)
  first.leave()
  const third = rooms.enter()
  third.take(2 * UNDER_BYTES)
  t.throws(() => third.take(1), { code: 'overloaded' }, 'what was given twice counts once')
})
