import sharp from 'sharp'
import t from 'tap'
import { readArtBOrder } from '../../../../src/families/art-b/rules/request.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'
import { order } from '../../../families/art-b/rules/orders.ts'
import { memoryCallDeps } from '../support/call-deps.ts'
import { principalOf } from '../../support/world.ts'
import type { ImageCallInput, KeepImage } from '../../../../src/app/calls/images/types.ts'
import { createImagePlace } from '../../../../src/app/calls/images/keep.ts'
import { deliver } from '../../../../src/app/calls/images/deliver.ts'
import { createImageFamily } from '../../../../src/app/calls/images/family.ts'
import { createCallRunner, createRunningCalls } from '../../../../src/app/calls/running-calls.ts'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import type { ImageAnswer, ImageItem } from '../../../../src/app/ports/images.ts'
import { storageUnavailable } from '../../../../src/storage/errors.ts'
import type { ObjectStore } from '../../../../src/storage/types.ts'

const picture = (background: string, format: 'png' | 'jpeg' | 'webp' = 'png') =>
  sharp({ create: { width: 1024, height: 1024, channels: 3, background } })
    .toFormat(format)
    .toBuffer()
const item = (bytes: Buffer, shown = {}): ImageItem => ({
  picture: { base64: bytes.toString('base64') },
  shown,
})
const answerOf = (...items: readonly ImageItem[]): ImageAnswer => ({
  upstreamRequestId: undefined,
  restMs: undefined,
  createdS: 7,
  items,
  shown: { quality: 'low' },
  seen: { usage: { image: items.length }, output: {} },
  failure: undefined,
})
/** The body of an answer as it is delivered; none of it lies at a URL of upstream's. */
async function body(delivery: 'url' | 'b64_json', answer: ImageAnswer) {
  const deps = { fetchPublic: () => Promise.reject(new Error('nothing to fetch')) }
  const channel = { baseUrl: 'https://upstream.example.test' } as Channel
  const way = { delivery, channel, signal: new AbortController().signal, keepImage }
  return (await deliver(deps, way, answer, { settlesEach: false, nowS: 9 })).body
}
const kept: string[] = []
const keepImage: KeepImage = (bytes, mediaType) => {
  kept.push(`${mediaType} ${bytes.length}`)
  return Promise.resolve('https://media.example.com/kept')
}

void t.test('a small file with more pixels than a model makes is refused undecoded', async (t) => {
  const side = 16_383
  const bytes = await sharp({
    create: { width: side, height: 2_200, channels: 3, background: 'black' },
  })
    .png({ compressionLevel: 9 })
    .toBuffer()
  t.ok(bytes.length < 256 * 1024, `${bytes.length} bytes`)
  for (const delivery of ['url', 'b64_json'] as const)
    await t.rejects(
      body(delivery, answerOf(item(bytes))),
      new ProviderError(
        'malformed',
        'certain',
        'The model service gave an image that cannot be read.',
      ),
    )
})

void t.test('pictures are delivered as requested, with the metadata of the answer', async (t) => {
  const bytes = await picture('#345')
  const answer = answerOf(item(bytes, { revised_prompt: 'a boat at sea' }))
  t.strictSame(await body('b64_json', answer), {
    created: 7,
    data: [{ b64_json: bytes.toString('base64'), revised_prompt: 'a boat at sea' }],
    quality: 'low',
  })
  t.strictSame(kept, [])
  t.match(await body('url', answer), {
    data: [{ url: 'https://media.example.com/kept', revised_prompt: 'a boat at sea' }],
  })
  t.strictSame(kept, [`image/png ${bytes.length}`])
})

void t.test('an all-black picture is refused in every format; a nearly black is not', async (t) => {
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const answer = answerOf(item(await picture('black', format)))
    await t.rejects(body('b64_json', answer), {
      code: 'suspected_black_image',
    })
  }
  const background = { r: 0, g: 0, b: 0, alpha: 1 }
  const opaque = sharp({ create: { width: 64, height: 64, channels: 4, background } }).png()
  await t.rejects(body('b64_json', answerOf(item(await opaque.toBuffer()))), {
    code: 'suspected_black_image',
  })
  // Its first rows are.
  const ground = sharp({ create: { width: 64, height: 64, channels: 3, background: '#345' } })
  const sky = { create: { width: 64, height: 48, channels: 3, background: 'black' } } as const
  const night = ground.composite([{ input: sky, top: 0, left: 0 }]).png()
  t.match(await body('b64_json', answerOf(item(await night.toBuffer()))), { created: 7 })
  const dark = answerOf(item(await picture('#202020')))
  t.match(await body('b64_json', dark), { created: 7 })
})

void t.test('bytes that are no picture are not delivered', async (t) => {
  for (const bytes of [Buffer.from('GIF89a'), Buffer.from('<svg/>'), Buffer.alloc(0)])
    await t.rejects(body('b64_json', answerOf(item(bytes))), {
      message: /cannot be read/,
    })
})

void t.test(
  'a URL answer without image storage is refused before the provider is asked',
  async (t) => {
    // Nothing else of it is reached.
    const { deps } = memoryCallDeps({
      family: 'art-b',
      models: { 'artB-5.0': 'upstream' },
      book: shippedBook,
    })
    const untouched = () => Promise.reject(new Error('nothing is fetched'))
    const family = createImageFamily({
      ...deps,
      providers: new Map(),
      imagePlace: undefined,
      openImageFile: untouched,
      fetchPublic: untouched,
    })
    const input: ImageCallInput = {
      principal: principalOf(),
      family: 'art-b',
      surface: 'v1.images.generations',
      requestId: 'req_1',
      model: 'artB-5.0',
      callerGone: new AbortController().signal,
      request: readArtBOrder(order()),
    }
    await t.rejects(createCallRunner(deps, createRunningCalls(deps)).complete(family, input), {
      code: 'image_url_not_available',
    })
  },
)

void t.test(
  'a call waits for the store as long in total as configured, not per picture',
  async (t) => {
    let nowMs = 0
    const clock = { nowMs: () => nowMs }
    let puts = 0
    const store = {
      put: () => {
        puts += 1
        nowMs += 400
        return puts < 3 ? Promise.resolve() : new Promise<void>(() => undefined)
      },
      publicUrl: () => Promise.resolve('https://media.example.com/kept'),
    } as unknown as ObjectStore
    const place = createImagePlace(store, clock, clock)
    const keep = place.open(801)
    const one = () => keep(new Uint8Array(3), 'image/png')
    await one()
    await one()
    place.check()
    await t.rejects(one(), { code: 'image_not_kept' }, 'a millisecond is left of it')
    await t.rejects(one(), { code: 'image_not_kept' })
    t.equal(puts, 3, 'nothing is left of it')
  },
)

void t.test('a store that failed is not used for a while', async (t) => {
  let nowMs = 0
  const clock = { nowMs: () => nowMs }
  const store = {
    put: () => Promise.reject(storageUnavailable('full', new Error('no room'))),
  } as unknown as ObjectStore
  const place = createImagePlace(store, clock, clock)
  const lost = place.open(1_000)(new Uint8Array(3), 'image/png')
  await t.rejects(lost, { code: 'image_not_kept', details: { trouble: 'full' } })
  t.throws(() => place.check(), { code: 'storage_unavailable' })
  nowMs += 2_000
  place.check()
})
