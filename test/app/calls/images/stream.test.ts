import sharp from 'sharp'
import t from 'tap'
import type { CallDeps } from '../../../../src/app/calls/deps.ts'
import { createAbsorbedCosts } from '../../../../src/app/spending/throttle/absorbed-costs.ts'
import { createImageFamily } from '../../../../src/app/calls/images/family.ts'
import type { ImageCallInput, ImageDeps } from '../../../../src/app/calls/images/types.ts'
import { createCallRunner, createRunningCalls } from '../../../../src/app/calls/running-calls.ts'
import { ProviderError } from '../../../../src/app/ports/provider.ts'
import type {
  ImageEvent,
  ImageFrame,
  ImageProvider,
  ImageTally,
} from '../../../../src/app/ports/images.ts'
import { readArtBOrder } from '../../../../src/families/art-b/rules/request.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { FetchFault, type FetchPublic } from '../../../../src/kernel/public-fetch.ts'
import { until } from '../../../helpers/eventually.ts'
import { order } from '../../../families/art-b/rules/orders.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'
import { principalOf } from '../../support/world.ts'
import { idleJournal, memoryCallDeps } from '../support/call-deps.ts'

const paint = (background: string) =>
  sharp({ create: { width: 32, height: 16, channels: 3, background } })
    .png()
    .toBuffer()
const pictures: Readonly<Record<string, Buffer>> = {
  fine: await paint('#36c'),
  black: await paint('black'),
  text: Buffer.from('<html>not found</html>'),
}

const frame = (event: string, more: object = {}): ImageFrame => ({
  event,
  data: JSON.stringify({ type: event, ...more }),
})
/** A picture that upstream keeps under that name. */
const made = (name: string, terminal = false): ImageEvent => ({
  kind: 'picture',
  item: { picture: { url: `https://results.example.com/${name}` }, shown: { size: '32x16' } },
  delivered: (fields) => frame('made', fields),
  lost: (error) => frame('lost', { error }),
  terminal,
})
const whole: ImageEvent = { kind: 'frame', frame: frame('whole'), terminal: true }

type Step = ImageEvent | ProviderError | 'wait'

/** An upstream that streams these, one after another, and then ends. */
function upstream(...steps: readonly Step[]) {
  let at = 0
  let cancelled = false
  let proceed = (): void => undefined
  const came = () => steps.slice(0, at).filter((step) => typeof step === 'object')
  const tally = (): ImageTally => ({
    usage: { image: came().filter((step) => 'kind' in step && step.kind === 'picture').length },
    output: {},
    finished: came().includes(whole),
    failure: undefined,
  })
  const provider: ImageProvider = {
    family: 'art-b',
    make: () => Promise.reject(new Error('a stream was asked for')),
    stream: () =>
      Promise.resolve({
        upstreamRequestId: 'up_1',
        restMs: undefined,
        tally,
        receivedBytes: () => at,
        endedBy: () => undefined,
        cancel: () => {
          cancelled = true
          proceed()
        },
        read: async () => {
          if (steps[at] === 'wait') {
            at += 1
            await new Promise<void>((resolve) => (proceed = resolve))
          }
          if (cancelled) throw new ProviderError('unavailable', 'certain', 'cut')
          const step = steps[at]
          at += 1
          if (step instanceof ProviderError) throw step
          return step === undefined || step === 'wait' ? undefined : [step]
        },
      }),
  }
  return { provider, proceed: () => proceed() }
}

const fetched: FetchPublic = (url) => {
  const name = url.split('/').at(-1) ?? ''
  const bytes = pictures[name]
  return bytes ? Promise.resolve(bytes) : Promise.reject(new FetchFault('unreachable', 'is gone'))
}

function scene(
  source: ReturnType<typeof upstream>,
  { deps = {}, fields = {} }: { deps?: Partial<ImageDeps & CallDeps>; fields?: object } = {},
) {
  const inMemory = memoryCallDeps({
    family: 'art-b',
    models: { 'artB-5.0': 'upstream' },
    largestImageCounts: { 'artB-5.0': 15 },
    book: shippedBook,
  })
  const kept: number[] = []
  const keptWithin: number[] = []
  const all: ImageDeps & CallDeps = {
    ...inMemory.deps,
    providers: new Map([['art-b', source.provider]]),
    fetchPublic: fetched,
    imagePlace: {
      check: () => undefined,
      open: (longestMs) => {
        keptWithin.push(longestMs)
        return (bytes) => {
          kept.push(bytes.length)
          return Promise.resolve(`https://gateway.example.test/${kept.length}`)
        }
      },
    },
    openImageFile: () => Promise.reject(new Error('no files here')),
    ...deps,
  }
  const running = createRunningCalls(all)
  const gone = new AbortController()
  const group = { sequential_image_generation: 'auto', stream: true, ...fields }
  const input: ImageCallInput = {
    principal: principalOf(),
    family: 'art-b',
    surface: 'v1.images.generations',
    requestId: 'req_1',
    model: 'artB-5.0',
    callerGone: gone.signal,
    request: readArtBOrder(order(group)),
  }
  const seen: string[] = []
  let error: unknown
  const read = async (): Promise<void> => {
    try {
      const { frames } = await createCallRunner(all, running).stream(createImageFamily(all), input)
      for await (const { data } of frames) seen.push(data)
    } catch (thrown) {
      error = thrown
    }
  }
  return { ...inMemory, kept, keptWithin, running, gone, seen, read, error: () => error }
}

const types = (seen: readonly string[]) =>
  seen.map((data) => (JSON.parse(data) as { readonly type: string }).type)

void t.test('pictures are fetched, looked at and kept before their frames go on', async (t) => {
  const s = scene(upstream(made('fine'), made('fine'), whole))
  await s.read()
  t.same(types(s.seen), ['made', 'made', 'whole'])
  t.match(s.seen[1], /https:\/\/gateway\.example\.test\/2/)
  t.notMatch(s.seen.join(''), /results\.example\.com/, 'no URL of the provider is handed out')
  t.same(s.keptWithin, [1_000], 'the store of all has the time of the channel')
  t.match(s.events, [{ type: 'CallSettled', data: { outcome: 'completed', usage: { image: 2 } } }])
  t.match(s.ends.at(-1), /^commit 500000000000 at/)
})

void t.test('a URL from upstream is streamed in base64, as requested', async (t) => {
  const s = scene(upstream(made('fine'), whole), { fields: { response_format: 'b64_json' } })
  await s.read()
  t.match(JSON.parse(s.seen[0] ?? ''), { b64_json: pictures['fine']?.toString('base64') })
  t.same(s.kept, [])
})

void t.test('the last frame waits until the settlement is durable (P3)', async (t) => {
  let written = (): void => undefined
  const s = scene(upstream(made('fine'), made('fine', true), whole), {
    deps: {
      journal: {
        ...idleJournal,
        record: () => new Promise((resolve) => (written = () => resolve({ position: 1n }))),
      },
    },
  })
  const reading = s.read()
  await until(() => s.seen.length > 0 && s.kept.length === 2)
  await new Promise((resolve) => setImmediate(resolve))
  t.same(types(s.seen), ['made'], 'the last picture is withheld as well')
  written()
  await reading
  t.same(types(s.seen), ['made', 'made', 'whole'])
})

void t.test('frames are withheld when the settlement could not be recorded', async (t) => {
  const away = new DomainError('log_unavailable', 'away', {})
  const s = scene(upstream(made('fine', true), whole), {
    deps: { journal: { ...idleJournal, record: () => Promise.reject(away) } },
  })
  await s.read()
  t.same(s.seen, [])
  t.match(s.error(), { code: 'log_unavailable' })
})

void t.test('an undeliverable picture is reported as not made, and not billed', async (t) => {
  const s = scene(upstream(made('black'), made('text'), made('gone'), made('fine'), whole))
  await s.read()
  t.same(types(s.seen), ['lost', 'lost', 'lost', 'made', 'whole'])
  t.same(
    s.seen.slice(0, 3).map((data) => (JSON.parse(data) as { error: { code: string } }).error.code),
    ['suspected_black_image_from_upstream', 'upstream_unavailable', 'upstream_unavailable'],
  )
  t.match(s.events, [
    { type: 'CallSettled', data: { usage: { image: 1, 'undelivered-image': 3 } } },
  ])
})

void t.test('a call without a deliverable picture bills nothing, and is our cost', async (t) => {
  const s = scene(upstream(made('black'), whole))
  await s.read()
  t.same(types(s.seen), ['lost', 'whole'])
  t.match(s.events, [
    {
      type: 'CallFailed',
      data: {
        code: 'suspected_black_image_from_upstream',
        absorbed: { settlement: { amount: '0.25' } },
      },
    },
  ])
  t.equal(s.ends.at(-1), 'failed')
})

void t.test('black pictures of calls begun at once cost ten times the bound at most', async (t) => {
  const BOUND = 0.1
  const sources = Array.from({ length: 60 }, () => upstream('wait', made('black'), whole))
  const { throttle } = scene(upstream()).deps
  const absorbed = createAbsorbedCosts({ nowMs: () => 1_000 }, BOUND)
  const scenes = sources.map((source) =>
    scene(source, { deps: { throttle: { ...throttle, absorbed } } }),
  )
  const reading = Promise.all(scenes.map((s) => s.read()))
  // All that are admitted run before the first is looked at.
  await until(() => scenes.every((s) => s.ends.length > 0))
  const proceeding = setInterval(() => {
    for (const source of sources) source.proceed()
  }, 10)
  await reading
  clearInterval(proceeding)
  const cost = scenes
    .flatMap(({ events }) => events)
    .flatMap((event) =>
      event.type === 'CallFailed' ? [Number(event.data.absorbed?.settlement.amount)] : [],
    )
    .reduce((sum, amount) => sum + amount, 0)
  t.ok(cost > BOUND, `${cost} of ${BOUND}`)
  t.ok(cost <= 10 * BOUND, `${cost} of ${BOUND}`)
})

void t.test('a picture with other sides than upstream states is not delivered', async (t) => {
  const other = { ...pictures, fine: await paint('red') }
  const s = scene(upstream(made('fine'), whole), {
    deps: {
      fetchPublic: async () =>
        sharp(other.fine).resize({ width: 16, height: 16, fit: 'fill' }).png().toBuffer(),
    },
  })
  await s.read()
  t.same(types(s.seen), ['lost', 'whole'])
})

void t.test('a URL that could not be fetched is fetched a second time', async (t) => {
  let asked = 0
  const s = scene(upstream(made('fine'), whole), {
    deps: {
      fetchPublic: (url, bounds) => {
        asked += 1
        return asked === 1
          ? Promise.reject(new FetchFault('unreachable', 'is gone'))
          : fetched(url, bounds)
      },
    },
  })
  await s.read()
  t.same(types(s.seen), ['made', 'whole'])
})

void t.test('a stream whose caller leaves is read to its end and settled', async (t) => {
  const source = upstream(made('fine'), 'wait', made('fine'), whole)
  const s = scene(source)
  const reading = s.read()
  await until(() => s.seen.length === 1)
  s.gone.abort()
  source.proceed()
  await until(() => s.events.length > 0)
  await reading
  t.match(s.events, [
    { type: 'CallSettled', data: { outcome: 'disconnected', usage: { image: 2 } } },
  ])
  t.same(types(s.seen), ['made'])
  t.equal(s.running.inFlight(), 0)
})

void t.test(
  'a stopping process waits within its bound and settles the pictures so far',
  async (t) => {
    const s = scene(upstream(made('fine'), 'wait', made('fine'), whole))
    const reading = s.read()
    await until(() => s.seen.length === 1)
    s.gone.abort()
    t.equal(await s.running.close(1), true)
    await reading
    t.match(s.events, [
      { type: 'CallSettled', data: { outcome: 'disconnected', usage: { image: 1 } } },
    ])
  },
)

void t.test('a stream that upstream breaks off costs nothing and is our cost', async (t) => {
  const broken = [
    ['unavailable', upstream(made('fine'), new ProviderError('unavailable', 'certain', 'cut'))],
    ['unavailable', upstream(made('fine'))],
  ] as const
  for (const [code, source] of broken) {
    const s = scene(source)
    await s.read()
    t.same(types(s.seen), ['made'])
    t.match(s.error(), { code: 'upstream_unavailable' })
    t.match(s.events, [
      { type: 'CallFailed', data: { code, absorbed: { settlement: { amount: '0.25' } } } },
    ])
    t.equal(s.ends.at(-1), 'failed')
  }
})

void t.test('a refusal by moderation in the midst of a stream has its error code', async (t) => {
  const policy = new ProviderError('unavailable', 'certain', 'no', {
    code: 'content_policy_violation',
  })
  const s = scene(upstream(policy))
  await s.read()
  t.match(s.error(), { code: 'content_policy_violation' })
})

void t.test('a stream without image storage is refused before the provider is asked', async (t) => {
  for (const fields of [{}, { response_format: 'url' }]) {
    const s = scene(upstream(made('fine'), whole), { fields, deps: { imagePlace: undefined } })
    await s.read()
    t.match(s.error(), { code: 'image_url_not_available' })
    t.same([s.ends, s.events], [[], []])
  }
})
