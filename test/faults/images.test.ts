import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startTextWorld } from './text/support/world.ts'

/** Asynchronous images, and speech at once and as tasks, through the deaths of the process that makes them. */

t.setTimeout(300_000)

/** More than a started task is waited for. */
const PAST_THE_END_MS = 16 * 60_000
const ENDED_MS = 20_000
const PRICES = [
  { sku: 'image-2-low-image', currency: 'USD', unit: 'image', price: '0.0113', per: 1 },
  { sku: 'speech-2.8-hd-character', currency: 'USD', unit: 'character', price: '100', per: 1000 },
]

/** Each step of an asynchronous image, and how often upstream may have been asked by then. */
const points = [
  { at: 'image.after-payload', sent: 1, ends: 'completed' },
  { at: 'image.after-start', sent: 0, ends: 'failed' },
  { at: 'image.after-provider', sent: 1, ends: 'failed' },
  { at: 'image.after-storage', sent: 1, ends: 'failed' },
  // The last: any worker that follows would make it.
  { at: 'create.after-requested', sent: 1, ends: 'completed' },
] as const

/** Steps of speech at once: what upstream did is billed once it is written down, and only then. */
const callPoints = [
  { at: 'call.after-provider', billed: 0 },
  { at: 'call.after-append', billed: 1 },
] as const

/** Steps of speech as a task: what is not known to be taken stays open, and is never sent again. */
const taskPoints = [
  { at: 'create.after-provider', ends: 'Processing' },
  { at: 'create.after-submitted', ends: 'Success' },
] as const

const world = await startTextWorld('images')
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
  }
  const speech = {
    ...channel,
    id: 'speech',
    family: 'speech',
    base_url: `${upstream.url}/speech`,
    models: { 'speech-2.8-hd': 'voicer-2.8-hd' },
  }
  const files = {
    CHANNELS_FILE: { channels: [channel, speech] },
    PRICEBOOK_FILE: {
      version: 'images-1',
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

const machine = world.machine('images', await settings())

type Fields = Readonly<Record<string, unknown>>

/** Undefined where the process died before it answered. */
async function post(path: string, body: Fields, key?: string): Promise<Fields | undefined> {
  try {
    const response = await fetch(`${machine.address}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.modelToken}`,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    })
    const answer = (await response.json()) as Fields
    if (!response.ok) t.comment(JSON.stringify(answer))
    return { ...answer, platformId: response.headers.get('x-platform-id') }
  } catch {
    return undefined
  }
}

const spoken = (marker: string) => ({
  model: 'speech-2.8-hd',
  voice_id: 'male-qn-qingse',
  text: `a boat [[client=${marker}]] [[sandbox queued-ms=0 running-ms=300]]`,
})
const speak = (marker: string) => post('/provB/v1/t2a_v2', spoken(`call ${marker}`))
const speakLater = (marker: string) => post('/provB/v1/t2a_async_v2', spoken(marker), marker)

interface Body {
  readonly id: string
  readonly status: string
  readonly error?: { readonly code: string }
}

const create = async (marker: string): Promise<Body | undefined> =>
  (await post(
    '/v1/images/generations/async',
    { model: 'image-2', prompt: `a boat [[client=${marker}]]`, size: '816x816' },
    marker,
  )) as unknown as Body | undefined

/** The process dies at a point while somebody asks for something. */
async function dieAt(at: string, asking: () => Promise<unknown>): Promise<void> {
  t.equal(await machine.start({ crashAt: at }), 'ready')
  await asking()
  await ended(at)
}

async function ended(at: string): Promise<void> {
  const late = sleep(ENDED_MS, undefined, { ref: false }).then(() => machine.tail())
  t.equal(await Promise.race([machine.ended, late]), 'ended by SIGKILL', at)
}

/** Lines of a source, once there are as many as must be. */
function linesOf(source: string, wanted: number): Promise<readonly unknown[]> {
  return eventually(`${source}: the ledger has it`, async () => {
    const { data } = await read<{ readonly data: { readonly items: readonly unknown[] } }>(
      `/api/query/v1/ledger/lines?source_id=${source}`,
      tenant.queryToken,
    )
    return data.items.length >= wanted ? data.items : undefined
  })
}

async function read<Answer>(path: string, token: string): Promise<Answer> {
  const response = await fetch(`${machine.address}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return (await response.json()) as Answer
}

t.test(
  'killed between any two steps, each is made once or never, and billed if shown',
  async (t) => {
    for (const { at } of callPoints) await dieAt(at, () => speak(at))
    for (const { at } of taskPoints) await dieAt(at, () => speakLater(at))
    // Whoever follows sees how the last of them ends, perhaps before it is ready, and dies of it.
    await machine.start({ crashAt: 'observe.before-append' })
    await ended('observe.before-append')
    for (const { at } of points) await dieAt(at, () => create(at))
    const last = await machine.start({ clockAheadMs: PAST_THE_END_MS })
    t.equal(last, 'ready')
    let completed = 0
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
      else completed += 1
      const billed = ends === 'completed' ? 1 : 0
      t.equal((await linesOf(id, billed)).length, billed, `${at}: billed`)
      const calls = (await upstream.calls()).filter(({ client_marker }) => client_marker === at)
      t.equal(calls.length, sent, `${at}: sent ${sent} times`)
    }
    t.equal(completed, 2)
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

/** What became of what was spoken when a process died, asked of one that follows. */
async function speechEnded(): Promise<void> {
  const calls = await upstream.calls()
  for (const { at } of callPoints) {
    const mine = calls.filter(({ client_marker }) => client_marker === `call ${at}`)
    t.equal(mine.length, 1, `${at}: asked once`)
  }
  const settled = (await world.logged()).filter(({ type }) => type === 'CallSettled')
  t.equal(settled.length, callPoints.filter(({ billed }) => billed === 1).length, 'calls billed')
  for (const { callId } of settled) t.equal((await linesOf(callId, 1)).length, 1)
  const before = await sent()
  for (const { at, ends } of taskPoints) {
    // Who got no answer asks again with its key.
    const again = await speakLater(at)
    const id = String(again?.['platformId'])
    const { status } = await eventually(`${at}: ${id} ends`, async () => {
      const path = `/provB/v1/query/t2a_async_query_v2?task_id=${id}`
      const found = await read<Body>(path, tenant.modelToken)
      return found.status === ends ? found : undefined
    })
    t.equal(status, ends, at)
    const billed = ends === 'Success' ? 1 : 0
    t.equal((await linesOf(id, billed)).length, billed, `${at}: billed`)
  }
  t.equal(await sent(), before, 'none was sent again')
}
