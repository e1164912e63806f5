import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Call, Tenant } from './caller.ts'
import type { Dice } from './random.ts'
import { type Creation, newCreation } from './tasks/creations.ts'
import type { Removal, Sight, TaskFamily, Usage } from './tasks/family.ts'
import { familyNames, taskFamily } from './tasks/registry.ts'
import type { Intended, Witness } from './witness.ts'

/** `/v1/videos`: where tasks of every family of videos are alike. */

const VIDEOS = '/v1/videos'

const videoPath = (id: string): string => `${VIDEOS}/${id}`

function videoRemoval(id: string): Removal {
  return { method: 'DELETE', path: videoPath(id), hides: true }
}

const words: Readonly<Record<string, string>> = {
  in_progress: 'running',
  completed: 'succeeded',
}

/** What is shown there of a task, as its own family would say it. */
function videoSightOf({ status, error, usage }: Readonly<Record<string, unknown>>): Sight {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  const end = code === 'cancelled' || code === 'expired' ? code : 'failed'
  const word = String(status)
  const isDone = word === 'completed'
  return {
    status: word === 'failed' ? end : (words[word] ?? word),
    usage: isDone ? (usage as Usage) : undefined,
  }
}

/** Mixed traffic of several callers, as several tenants, of every family of tasks, until told to stop. */

const WORKERS = 3
const MAX_KNOWN = 60
const KEY_TRIES = 4
const DELETES_AT_ONCE = 10
const SAME_GETS_AT_ONCE = 6

interface Worker {
  readonly dice: Dice
  readonly call: Call
  readonly tenantId: string
  readonly witness: Witness
  /** Tasks this worker was given lately. */
  readonly known: Known[]
  readonly name: string
  /** The crash point the gateway waits for, if any: traffic then tends towards it. */
  readonly focus: () => string | undefined
  made: number
}

interface Known {
  readonly id: string
  readonly family: TaskFamily
}

export interface Traffic {
  readonly stop: () => Promise<void>
}

export function startTraffic(
  dice: Dice,
  options: {
    readonly tenants: readonly Tenant[]
    readonly witness: Witness
    readonly focus: () => string | undefined
  },
): Traffic {
  const stopping = new AbortController()
  const { tenants, witness, focus } = options
  const work = Array.from({ length: WORKERS }, async (_, index) => {
    const tenant = tenants[index % tenants.length]
    if (tenant === undefined) throw new RangeError('nobody to call as')
    const name = `w${index}`
    const own = { dice: dice.fork(name), known: [], name, made: 0 }
    const worker: Worker = { ...own, ...tenant, witness, focus }
    while (!stopping.signal.aborted) {
      await act(worker)
      await sleep(worker.dice.integer(20, 160))
    }
  })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(work)
    },
  }
}

function act(worker: Worker): Promise<unknown> {
  const { dice, known } = worker
  if (known.length === 0) return create(worker)
  const one = dice.pick(known)
  return dice.weighted<() => Promise<unknown>>([
    [35, () => create(worker)],
    [worker.focus()?.startsWith('delete.') ? 40 : 8, () => createAndDelete(worker)],
    [20, () => get(worker, one)],
    [5, () => Promise.all(Array.from({ length: SAME_GETS_AT_ONCE }, () => get(worker, one)))],
    [10, () => list(worker)],
    [14, () => remove(worker, one)],
    [4, () => Promise.all(Array.from({ length: DELETES_AT_ONCE }, () => remove(worker, one)))],
    [4, () => Promise.all([get(worker, one), remove(worker, one), list(worker)])],
  ])()
}

async function create(worker: Worker): Promise<Known | undefined> {
  const { dice, witness, name, tenantId } = worker
  worker.made += 1
  const marker = `${name}-${worker.made}`
  const creation = newCreation(dice, marker, worker.focus(), witness.assets.usable(tenantId))
  const intended = witness.intend(creation)
  const { asset } = creation
  const wasDeleted = asset?.deleted === true
  const id = await order(worker, creation, intended)
  if (id !== undefined && wasDeleted)
    witness.differ('used_after_deletion', asset.id, `by ${marker}`)
  return id === undefined ? undefined : { id, family: taskFamily(creation.family) }
}

async function order(
  worker: Worker,
  creation: Creation,
  intended: Intended,
): Promise<string | undefined> {
  const { dice } = worker
  if (dice.chance(0.3)) return createWithKey(worker, creation, intended)
  // Some callers hang up before they hear the answer: theirs is settled all the same.
  const hangUp = dice.chance(0.08) ? { hangUpMs: dice.integer(1, 120) } : {}
  const { path, body } = creation
  const answer = await worker.call('create', 'POST', path, { body, ...hangUp })
  return answer && learn(worker, intended, answer)
}

/** A careful caller: after any doubt the same request again under the same key. */
async function createWithKey(
  worker: Worker,
  creation: Creation,
  intended: Intended,
): Promise<string | undefined> {
  const { dice } = worker
  const { path, body, marker } = creation
  const headers = { 'idempotency-key': `key-${marker}` }
  const send = async (): Promise<string | undefined> => {
    const answer = await worker.call('create', 'POST', path, { body, headers })
    return answer && learn(worker, intended, answer)
  }
  if (dice.chance(0.2)) {
    const ids = await Promise.all([send(), send(), send()])
    return ids.find((id) => id !== undefined)
  }
  for (let tries = 0; tries < KEY_TRIES; tries += 1) {
    const id = await send()
    if (id !== undefined) {
      if (dice.chance(0.2)) await send()
      return id
    }
    await sleep(dice.integer(20, 400))
  }
  return undefined
}

/** Takes the ids out of an answer; returns the one this caller goes on with. */
function learn(worker: Worker, intended: Intended, answer: Answer): string | undefined {
  const { witness, known } = worker
  const platformId = answer.headers.get('x-platform-id')
  if (platformId !== null) intended.platformIds.add(platformId)
  if (answer.status !== 200) {
    if (answer.status === 502 && platformId === null)
      witness.differ('id_withheld', intended.marker, 'a 502 of a creation names no task')
    return undefined
  }
  const id = answer.body['id'] ?? answer.body['task_id']
  if (typeof id !== 'string' || platformId === null) {
    witness.differ('id_withheld', intended.marker, 'a creation answered 200 without its ids')
    return undefined
  }
  intended.nativeIds.add(id)
  if (intended.nativeIds.size > 1)
    witness.differ('two_tasks', intended.marker, `was given ${[...intended.nativeIds].join(' ')}`)
  if (intended.handle === undefined) {
    intended.handle = worker.dice.chance(0.3) ? platformId : id
    known.push({ id: intended.handle, family: taskFamily(intended.family) })
    if (known.length > MAX_KNOWN) known.shift()
  }
  return intended.handle
}

/** Meets the deletion with the queue, with its end, or with rendering. */
async function createAndDelete(worker: Worker): Promise<void> {
  const one = await create(worker)
  if (one === undefined) return
  await sleep(worker.dice.pick([0, 100, 500, 1_400, 2_400]))
  await remove(worker, one)
}

async function get(worker: Worker, { id, family }: Known): Promise<void> {
  const { witness } = worker
  const sighting = witness.sighting(id)
  const before = { ...sighting }
  const isAsVideo = family.isVideo && worker.dice.chance(0.2)
  const path = isAsVideo ? videoPath(id) : family.taskPath(id)
  const answer = await worker.call(isAsVideo ? 'get video' : 'get', 'GET', path)
  if (answer === undefined) return
  if (answer.status === 404 && !sighting.hidingTried)
    witness.differ('id_lost', id, 'a task a caller was given is not found')
  if (answer.status === 200)
    noteSight(
      worker,
      { id, family },
      (isAsVideo ? videoSightOf : family.sightOf)(answer.body),
      before.deleted === true,
    )
}

function noteSight(
  { witness }: Worker,
  { id, family }: Known,
  { status, usage }: Sight,
  wasDeleted: boolean,
): void {
  const sighting = witness.sighting(id)
  if (wasDeleted && status !== 'cancelled')
    witness.differ('deletion_undone', id, `deleted, then shown as ${status}`)
  if (status === 'succeeded') {
    const measured = (usage && family.measured(usage)) ?? Number.NaN
    if (sighting.measured !== undefined && sighting.measured !== measured)
      witness.differ('usage_changed', id, `shown as ${sighting.measured}, then as ${measured}`)
    sighting.measured = measured
  } else if (sighting.measured !== undefined)
    witness.differ('went_back', id, `shown as succeeded, then as ${status}`)
}

async function list(worker: Worker): Promise<void> {
  const { dice } = worker
  const { listPath } = taskFamily(dice.pick(familyNames))
  if (listPath === undefined) return listVideos(worker)
  const filter = dice.pick(['', '&filter.status=succeeded', '&filter.status=running'])
  const path = `${listPath}?page_num=${dice.integer(1, 3)}&page_size=${dice.pick([1, 10, 50])}${filter}`
  const answer = await worker.call('list', 'GET', path)
  if (answer?.status !== 200) return
  const items = answer.body['items']
  if (!Array.isArray(items)) {
    worker.witness.differ('bad_list', path, 'a list without items')
    return
  }
  for (const item of items as readonly Record<string, unknown>[])
    if (filter.endsWith('succeeded') && item['status'] !== 'succeeded')
      worker.witness.differ('bad_list', path, `shows ${String(item['status'])}`)
}

async function listVideos(worker: Worker): Promise<void> {
  const path = `${VIDEOS}?limit=${worker.dice.pick([1, 20, 100])}`
  const answer = await worker.call('list videos', 'GET', path)
  if (answer?.status === 200 && !Array.isArray(answer.body['data']))
    worker.witness.differ('bad_list', path, 'a list without data')
}

/** Deletes, or cancels, where the surface can. */
async function remove(worker: Worker, { id, family }: Known): Promise<void> {
  const { witness, dice } = worker
  const isAsVideo = family.isVideo && (family.removal === undefined || dice.chance(0.2))
  const removal = isAsVideo ? videoRemoval(id) : family.removal?.(id)
  if (removal === undefined) return
  const { method, path, body, hides } = removal
  const sighting = witness.sighting(id)
  sighting.hidingTried ||= hides
  const operation = isAsVideo ? 'delete video' : hides ? 'delete' : 'cancel'
  const answer = await worker.call(operation, method, path, body === undefined ? {} : { body })
  if (answer?.status === 200) sighting.deleted = true
}
