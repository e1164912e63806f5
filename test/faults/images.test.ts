import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startTextWorld } from './text/support/world.ts'

/** Asynchronous images through the deaths of the process that makes them. */

t.setTimeout(300_000)

/** More than a started task is waited for. */
const PAST_THE_END_MS = 16 * 60_000
const ENDED_MS = 20_000
const PRICE = { sku: 'image-2-low-image', currency: 'USD', unit: 'image', price: '0.0113', per: 1 }

/** Each step of an asynchronous image, and how often upstream may have been asked by then. */
const points = [
  { at: 'image.after-payload', sent: 1, ends: 'completed' },
  { at: 'image.after-start', sent: 0, ends: 'failed' },
  { at: 'image.after-provider', sent: 1, ends: 'failed' },
  { at: 'image.after-storage', sent: 1, ends: 'failed' },
  // The last: any worker that follows would make it.
  { at: 'create.after-requested', sent: 1, ends: 'completed' },
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
  const files = {
    CHANNELS_FILE: { channels: [channel] },
    PRICEBOOK_FILE: {
      version: 'images-1',
      effective_from: '2020-01-01T00:00:00Z',
      prices: [PRICE],
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

interface Body {
  readonly id: string
  readonly status: string
  readonly error?: { readonly code: string }
}

/** Undefined where the process died before it answered. */
async function create(marker: string): Promise<Body | undefined> {
  try {
    const response = await fetch(`${machine.address}/v1/images/generations/async`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.modelToken}`,
        'content-type': 'application/json',
        'idempotency-key': marker,
      },
      body: JSON.stringify({
        model: 'image-2',
        prompt: `a boat [[client=${marker}]]`,
        size: '816x816',
      }),
    })
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

t.test(
  'killed between any two steps, each is made once or never, and billed if shown',
  async (t) => {
    for (const { at } of points) {
      const began = await machine.start({ crashAt: at })
      t.equal(began, 'ready')
      await create(at)
      const late = sleep(ENDED_MS, undefined, { ref: false }).then(() => machine.tail())
      t.equal(await Promise.race([machine.ended, late]), 'ended by SIGKILL', at)
    }
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
      const lines = await eventually(`${at}: the ledger has it`, async () => {
        const { data } = await read<{ readonly data: { readonly items: readonly unknown[] } }>(
          `/api/query/v1/ledger/lines?source_id=${id}`,
          tenant.queryToken,
        )
        return ends === 'failed' || data.items.length > 0 ? data.items.length : undefined
      })
      t.equal(lines, ends === 'completed' ? 1 : 0, `${at}: billed`)
      const calls = (await upstream.calls()).filter(({ client_marker }) => client_marker === at)
      t.equal(calls.length, sent, `${at}: sent ${sent} times`)
    }
    t.equal(completed, 2)
    const { exitCode, output } = await machine.command(['audit'])
    t.equal(exitCode, 0, output)
    await machine.stop()
  },
)
