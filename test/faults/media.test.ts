import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { atLength } from '../helpers/long-run.ts'
import { startTextWorld } from './text/support/world.ts'

/**
 * Images, speech at once and as tasks, and videos that are cancelled, through the deaths of the process that has them. In
 * short it dies at a few points of each: use cases die at every one in `crash.test.ts` of `test/app/tasks`,
 * `test/app/tasks/images` and `test/app/calls`.
 */

t.setTimeout(1_200_000)

/** More than a started task is waited for. */
const PAST_THE_END_MS = 16 * 60_000
const ENDED_MS = 100_000
/** Longer than any life of these tests. */
const NEVER_MS = 120_000
/** Far more than fits between a gateway and a caller who does not read. */
const MOST_IMAGES = 10
const LARGEST_SIZE = '3840x2160'
const IMAGE = { sku: 'image-2-low-image', currency: 'USD', unit: 'image', price: '0.0113', per: 1 }
const CHARACTER = { sku: 'speech-2.8-hd-character', currency: 'USD', unit: 'character' }
const CREDIT = { sku: 'clipq2-credit', currency: 'USD', unit: 'credit', price: '0.005', per: 1 }
const SECOND = { ...CREDIT, sku: 'h3-768p-second', unit: 'second', price: '0.08' }
const PRICES = [IMAGE, { ...CHARACTER, price: '100', per: 1000 }, CREDIT, SECOND]

/** In short, those of them that `is` says. */
const chosen = <One>(all: readonly One[], is: (one: One) => boolean): readonly One[] =>
  all.filter((one) => atLength(is(one), true))

/** Each step of an asynchronous image, and how often upstream may have been asked by then. */
const allPoints = [
  { at: 'image.after-payload', sent: 1, ends: 'completed' },
  { at: 'image.after-start', sent: 0, ends: 'failed' },
  { at: 'image.after-provider', sent: 1, ends: 'failed' },
  { at: 'image.after-storage', sent: 1, ends: 'failed' },
  // The last: any worker that follows would make it.
  { at: 'create.after-requested', sent: 1, ends: 'completed' },
] as const
const points = chosen(allPoints, ({ at }) => /^(?:image\.after-provider|create)/.test(at))

/** Steps of speech at once: what upstream did is billed once it is written down, and only then. */
const allCallPoints = [
  { at: 'call.after-provider', billed: 0 },
  { at: 'call.after-append', billed: 1 },
] as const
const callPoints = chosen(allCallPoints, ({ billed }) => billed === 1)

/** Steps of speech as a task: what is not known to be taken stays open, and is never sent again. */
const allTaskPoints = [
  { at: 'create.after-provider', ends: 'Processing' },
  { at: 'create.after-submitted', ends: 'Success' },
] as const
const taskPoints = chosen(allTaskPoints, ({ ends }) => ends === 'Processing')

/** Steps of a cancellation. */
const allSteps = ['delete.before-forward', 'delete.after-forward', 'delete.after-confirm'] as const
/** The last is one that no use case dies at. */
const steps = chosen(allSteps, (at) => at === 'delete.after-confirm')

/** Who finds a lost video again, and who sees its end. */
const allFinders = ['reconcile.after-adopt', 'observe.after-append'] as const
const finders = chosen(allFinders, (at) => at === 'reconcile.after-adopt')

const world = await startTextWorld('media')
t.teardown(() => world.close())
const { directory, tenant, upstream } = world

async function settings(): Promise<Readonly<Record<string, string>>> {
  const channel = {
    id: 'images',
    family: 'image',
    region: 'overseas',
    base_url: `${upstream.url}/images/v1`,
    credential: { env: 'FAULTS_UPSTREAM_KEY' },
    models: { 'image-2': 'picture-2-2026-04-21' },
    largest_image_counts: { 'image-2': MOST_IMAGES },
  }
  const speech = {
    id: 'speech',
    family: 'speech',
    region: 'overseas',
    credential: { env: 'FAULTS_UPSTREAM_KEY' },
    base_url: `${upstream.url}/speech`,
    models: { 'speech-2.8-hd': 'voicer-2.8-hd' },
  }
  const clips = {
    id: 'clips',
    family: 'video-c',
    region: 'overseas',
    base_url: upstream.url,
    credential: { env: 'FAULTS_UPSTREAM_KEY' },
    models: { clipq2: 'reelq2' },
  }
  const video = {
    ...clips,
    id: 'video',
    family: 'video-b',
    base_url: `${upstream.url}/video-b`,
    models: { 'h3-video': 'video-h3' },
  }
  const files = {
    CHANNELS_FILE: { channels: [channel, speech, clips, video] },
    PRICEBOOK_FILE: {
      version: 'media-1',
      effective_from: '2020-01-01T00:00:00Z',
      prices: PRICES,
    },
  }
  const paths: Record<string, string> = {}
  for (const [name, document] of Object.entries(files)) {
    const path = join(directory, `${name}.json`)
    await writeFile(path, JSON.stringify(document))
    paths[name] = path
  }
  return {
    ...paths,
    OBJECT_STORAGE: 'local',
    PUBLIC_BASE_URL: 'https://gateway.example.com',
    POLL_SCALE: '0.3',
  }
}

const machine = world.machine('media', await settings())

interface Body {
  readonly id: string
  readonly status: string
  readonly error?: { readonly code: string }
}

function ask(path: string, marker: string, body: object = {}, switches = ''): Promise<Response> {
  return fetch(`${machine.address}/v1/images/generations${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tenant.modelToken}`,
      'content-type': 'application/json',
      ...(path === '/async' ? { 'idempotency-key': marker } : {}),
    },
    body: JSON.stringify({
      model: 'image-2',
      prompt: `a boat [[client=${marker}]]${switches}`,
      size: '816x816',
      ...body,
    }),
  })
}

/** A text to be spoken; the answer with its task's platform id, undefined where the process died before it. */
async function speak(
  path: 't2a_v2' | 't2a_async_v2',
  marker: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const response = await fetch(`${machine.address}/provB/v1/${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.modelToken}`,
        'content-type': 'application/json',
        ...(path === 't2a_async_v2' ? { 'idempotency-key': marker } : {}),
      },
      body: JSON.stringify({
        model: 'speech-2.8-hd',
        voice_id: 'male-qn-qingse',
        text: `a boat [[client=${marker}]] [[sandbox queued-ms=0 running-ms=300]]`,
      }),
    })
    const answer = (await response.json()) as Readonly<Record<string, unknown>>
    return { ...answer, platformId: response.headers.get('x-platform-id') }
  } catch {
    return undefined
  }
}

/** Undefined where the process died before it answered. */
async function create(marker: string): Promise<Body | undefined> {
  try {
    const response = await ask('/async', marker)
    const body = (await response.json()) as Body
    if (!response.ok) t.comment(JSON.stringify(body))
    return response.ok ? body : undefined
  } catch {
    return undefined
  }
}

async function read<Answer>(path: string, token: string): Promise<Answer> {
  const response = await fetch(`${machine.address}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return (await response.json()) as Answer
}

/** Starts a life that must end at this point. */
async function diesAt(crashAt: string): Promise<() => Promise<string>> {
  if ((await machine.start({ crashAt })) === 'ended') throw new Error(machine.tail())
  return hasEnded
}

/** How the present life ended, or what it said last. */
function hasEnded(): Promise<string> {
  const late = sleep(ENDED_MS, undefined, { ref: false }).then(() => machine.tail())
  return Promise.race([machine.ended, late])
}

const callsOf = async (marker: string) =>
  (await world.upstream.calls()).filter(({ client_marker }) => client_marker === marker)

/** How many pictures of each synchronous call the log has settled, by its marker. */
async function settledCalls(): Promise<Readonly<Record<string, number>>> {
  const markers = await world.upstream.markers()
  const settled = (await world.logged()).filter(({ type }) => type === 'CallSettled')
  return Object.fromEntries(
    settled.map(({ requestId, settlement }) => [
      markers.get(requestId) ?? requestId,
      (settlement?.lines ?? []).reduce((sum, { quantity }) => sum + quantity, 0),
    ]),
  )
}

interface LedgerLine {
  readonly source_id: string
  readonly request_id: string
  readonly amount: string
}

async function ledgerLines(query: string): Promise<readonly LedgerLine[]> {
  const { data } = await read<{ readonly data: { readonly items: readonly LedgerLine[] } }>(
    `/api/query/v1/ledger/lines?${query}`,
    tenant.queryToken,
  )
  return data.items
}

/** What each synchronous image is billed, by its marker. */
async function ledgerOfCalls(): Promise<Readonly<Record<string, string>>> {
  const markers = await world.upstream.markers()
  const lines = (await ledgerLines(`limit=500&sku=${IMAGE.sku}`)).filter(({ source_id: id }) =>
    id.startsWith('call_'),
  )
  return Object.fromEntries(
    lines.map(({ request_id: id, amount }) => [markers.get(id) ?? id, amount]),
  )
}

t.test('a killed call is billed if it was settled, and not delivered before', async (t) => {
  const broken = (marker: string, body?: object, switches?: string) =>
    t.rejects(
      ask('', marker, body, switches).then((response) => response.text()),
      `${marker}: no whole answer`,
    )
  const first = await diesAt('call.before-append:3')
  const unanswered = broken('unanswered', {}, `[[sandbox first-byte-ms=${NEVER_MS}]]`)
  await eventually('upstream has accepted it', async () => (await callsOf('unanswered'))[0])
  const delivered = await ask('', 'delivered')
  t.equal(((await delivered.json()) as { data: unknown[] }).data.length, 1)
  // Its head has come, so it is settled; the rest waits for a reader.
  const halfway = await ask('', 'halfway', { n: MOST_IMAGES, size: LARGEST_SIZE })
  t.equal(halfway.status, 200)
  t.strictSame(await settledCalls(), { delivered: 1, halfway: MOST_IMAGES })
  const answered = broken('answered', { response_format: 'url' })
  t.equal(await first(), 'ended by SIGKILL')
  await Promise.all([unanswered, answered, t.rejects(halfway.text(), 'halfway: cut off')])

  const second = await diesAt('call.after-append')
  const settled = broken('settled')
  t.equal(await second(), 'ended by SIGKILL')
  await settled
  for (const marker of ['unanswered', 'delivered', 'halfway', 'answered', 'settled'])
    t.equal((await callsOf(marker)).length, 1, `${marker}: sent once`)
  t.strictSame(await settledCalls(), {
    delivered: 1,
    halfway: MOST_IMAGES,
    settled: 1,
  })
})

interface Clip {
  readonly platform_id: string
  readonly state: string
  readonly err_code: string
}

function clips(path: string, body?: object): Promise<Response> {
  return fetch(`${machine.address}/provC/ent/v2${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tenant.modelToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function clip(switches: string): Promise<string> {
  const prompt = `a boat [[sandbox ${switches}]]`
  const answer = await clips('/text2video', { model: 'clipq2', prompt })
  return ((await answer.json()) as Clip).platform_id
}

t.test('a cancellation that is killed happens once or not at all, and is free', async (t) => {
  const waiting = new Map<string, string>()
  let made = ''
  for (const at of steps) {
    const ended = await diesAt(at)
    if (made === '') made = await clip('queued-ms=0 running-ms=0 tokens=100')
    const id = await clip('stall-queued')
    waiting.set(at, id)
    await t.rejects(clips(`/tasks/${id}/cancel`), `${at}: no answer`)
    t.equal(await ended(), 'ended by SIGKILL', at)
  }
  t.equal(await machine.start({}), 'ready')
  for (const [at, id] of waiting) {
    const shown = () => read<Clip>(`/provC/ent/v2/tasks/${id}/creations`, tenant.modelToken)
    if (at === 'delete.before-forward') {
      t.equal((await shown()).state, 'queueing', `${at}: upstream was not asked`)
      t.equal((await clips(`/tasks/${id}/cancel`)).status, 200, `${at}: asked again`)
    }
    const end = await eventually(`${at}: ${id} ends`, async () => {
      const found = await shown()
      return found.state === 'failed' ? found : undefined
    })
    t.equal(end.err_code, 'UserCancelled', at)
    t.equal((await clips(`/tasks/${id}/cancel`)).status, 400, `${at}: it has ended`)
    t.same(await ledgerLines(`source_id=${id}`), [], `${at}: costs nothing`)
  }
  const [line] = await eventually('the other one is billed', async () => {
    const found = await ledgerLines(`source_id=${made}`)
    return found.length > 0 ? found : undefined
  })
  t.equal(line?.amount, '0.5')
  await machine.stop()
})

const VIDEOS = '/provB/v2/video_generation'

/** Undefined where the process died before it answered. */
async function createVideo(marker: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${machine.address}${VIDEOS}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.modelToken}`,
        'content-type': 'application/json',
        'idempotency-key': marker,
      },
      body: JSON.stringify({
        model: 'h3-video',
        content: [
          {
            type: 'text',
            text: `a lantern [[client=${marker}]] [[sandbox queued-ms=0 running-ms=300]]`,
          },
        ],
        duration: 4,
        ratio: '16:9',
      }),
    })
    const body = (await response.json()) as { readonly platform_id?: string }
    return body.platform_id
  } catch {
    return undefined
  }
}

t.test('a video without a marker is found again after a kill, and billed once', async (t) => {
  const ended = await diesAt('create.after-provider')
  await createVideo('lost')
  t.equal(await ended(), 'ended by SIGKILL')
  // Whoever finds it again dies of that, and whoever sees its end: perhaps before it was ready.
  for (const crashAt of finders) {
    await machine.start({ crashAt })
    t.equal(await hasEnded(), 'ended by SIGKILL', crashAt)
  }
  t.equal(await machine.start({}), 'ready')
  const lines = await eventually('the ledger has it', async () => {
    // Who got no answer asks again with its key.
    const id = await createVideo('lost')
    const found = id === undefined ? [] : await ledgerLines(`source_id=${id}`)
    return found.length > 0 ? found : undefined
  })
  t.same(
    lines.map(({ amount }) => amount),
    ['0.32'],
  )
  const record = await fetch(`${upstream.url}/__sandbox/accepted?family=video-b`)
  t.match(await record.json(), { total: 1 }, 'it was sent once')
  await machine.stop()
})

t.test(
  'killed between any two steps, each order is made once or never, and billed if shown',
  async (t) => {
    const dies = async (at: string, asking: () => Promise<unknown>): Promise<void> => {
      const ended = await diesAt(at)
      await asking()
      t.equal(await ended(), 'ended by SIGKILL', at)
    }
    for (const { at } of callPoints) await dies(at, () => speak('t2a_v2', `call ${at}`))
    for (const { at } of taskPoints) await dies(at, () => speak('t2a_async_v2', at))
    // Whoever follows sees how the last of them ends, perhaps before it is ready, and dies of it.
    if (taskPoints.some(({ ends }) => ends === 'Success')) {
      await machine.start({ crashAt: 'observe.before-append' })
      t.equal(await hasEnded(), 'ended by SIGKILL', 'observe.before-append')
    }
    for (const { at } of points) await dies(at, () => create(at))
    const last = await machine.start({ clockAheadMs: PAST_THE_END_MS })
    t.equal(last, 'ready')
    for (const { at, sent, ends } of points) {
      // Who got no answer asks again with its key.
      const task = await create(at)
      const id = task?.id ?? 'none'
      const end = await eventually(`${at}: ${id} ends`, async () => {
        const found = await read<Body>(`/v1/images/generations/${id}`, tenant.modelToken)
        return ['completed', 'failed'].includes(found.status) ? found : undefined
      })
      t.equal(end.status, ends, at)
      if (ends === 'failed') t.equal(end.error?.code, 'outcome_unknown', at)
      const lines = await eventually(`${at}: the ledger has it`, async () => {
        const found = await ledgerLines(`source_id=${id}`)
        return ends === 'failed' || found.length > 0 ? found.length : undefined
      })
      t.equal(lines, ends === 'completed' ? 1 : 0, `${at}: billed`)
      t.equal((await callsOf(at)).length, sent, `${at}: sent ${sent} times`)
    }
    t.strictSame(await ledgerOfCalls(), {
      delivered: '0.0113',
      halfway: '0.113',
      settled: '0.0113',
    })
    await speechEnded()
    const { exitCode, output } = await machine.command(['audit'])
    t.equal(exitCode, 0, output)
    await machine.stop()
  },
)

/** Creations of tasks that arrived upstream. */
async function sent(): Promise<number | undefined> {
  const response = await fetch(`${upstream.url}/__sandbox/requests`)
  const { routes } = (await response.json()) as {
    readonly routes: Readonly<Record<string, { readonly count: number }>>
  }
  return routes['speech.create-task']?.count
}

/** Lines of a source, once there are as many as must be. */
function billed(source: string, wanted: number): Promise<number> {
  return eventually(`${source}: the ledger has it`, async () => {
    const { length } = await ledgerLines(`source_id=${source}`)
    return length >= wanted ? { length } : undefined
  }).then(({ length }) => length)
}

/** What became of what was spoken when a process died, asked of one that follows. */
async function speechEnded(): Promise<void> {
  for (const { at } of callPoints)
    t.equal((await callsOf(`call ${at}`)).length, 1, `${at}: asked once`)
  const settled = (await world.logged()).filter(
    ({ type, settlement }) =>
      type === 'CallSettled' && settlement?.lines.some(({ sku }) => sku === CHARACTER.sku),
  )
  t.equal(settled.length, callPoints.filter((point) => point.billed === 1).length, 'calls billed')
  for (const { callId } of settled) t.equal(await billed(callId, 1), 1)
  const before = await sent()
  for (const { at, ends } of taskPoints) {
    // Who got no answer asks again with its key.
    const again = await speak('t2a_async_v2', at)
    const id = String(again?.['platformId'])
    const { status } = await eventually(`${at}: ${id} ends`, async () => {
      const path = `/provB/v1/query/t2a_async_query_v2?task_id=${id}`
      const found = await read<Body>(path, tenant.modelToken)
      return found.status === ends ? found : undefined
    })
    t.equal(status, ends, at)
    const lines = ends === 'Success' ? 1 : 0
    t.equal(await billed(id, lines), lines, `${at}: billed`)
  }
  t.equal(await sent(), before, 'none was sent again')
}
