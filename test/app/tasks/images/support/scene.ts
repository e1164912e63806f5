import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '../../../../../src/kernel/clock.ts'
import type {
  CreateImageTaskInput,
  ImageTaskView,
} from '../../../../../src/app/tasks/images/types.ts'
import { readImageOrder } from '../../../../../src/families/image/rules/request.ts'
import { newRequestId } from '../../../../../src/kernel/ids.ts'
import { openLocalStore } from '../../../../../src/storage/local/store.ts'
import type { ObjectStore } from '../../../../../src/storage/types.ts'
import { order } from '../../../../families/image/rules/orders.ts'
import { eventually } from '../../../../helpers/eventually.ts'
import { sandboxImageChannels } from '../../../../helpers/sandbox-channels.ts'
import {
  principalOf,
  type Replica,
  type ReplicaOptions,
  startWorld,
} from '../../../support/world.ts'

/** A world whose replicas make images and keep them in one folder. */

/** More than a started task is waited for. */
export const PAST_THE_END_MS = 16 * 60_000

export interface ImageWish {
  readonly prompt?: string
  readonly tenantId?: string
  readonly idempotencyKey?: string
}

/** What the API would hand over. */
export function imageInput({ prompt = 'a boat', tenantId, idempotencyKey }: ImageWish = {}) {
  const request = readImageOrder(order({ prompt, size: '816x816' }))
  return {
    principal: principalOf(tenantId),
    family: 'image',
    surface: 'v1.images.generations.async',
    requestId: newRequestId(Date.now()),
    model: request.model,
    request,
    idempotencyKey,
  } satisfies CreateImageTaskInput
}

export async function startImageScene(t: Test) {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-images-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  const world = await startWorld(t)
  const store: ObjectStore = await openLocalStore({
    clock: systemClock,
    directory,
    secret: 'a secret of the tests',
    baseUrl: () => 'https://gateway.example.com',
  })
  const channels = sandboxImageChannels({ baseUrl: world.sandbox.url })
  const replica = (options: ReplicaOptions = {}): Replica =>
    world.replica({ channels, store, ...options })
  const keys = async (prefix: string): Promise<readonly string[]> => {
    const found: string[] = []
    for await (const { key } of store.list(prefix)) found.push(key)
    return found
  }
  const typesOf = async (id: string): Promise<readonly string[]> =>
    (await world.eventsOf(id)).map(({ type }) => type)
  const reaches = (
    { images }: Replica,
    id: string,
    status: ImageTaskView['status'],
  ): Promise<ImageTaskView> =>
    eventually(`${id} is ${status}`, async () => {
      const view = await images.get({ principal: principalOf(), id })
      return view.status === status ? view : undefined
    })
  /** How often upstream accepted the order with this marker. */
  const sent = (marker: string): number =>
    world.sandbox.calls().filter(({ client_marker }) => client_marker === marker).length
  /** Lines of the ledger of a task, and what became of its hold. */
  const moneyOf = async (id: string) => {
    await world.settle()
    const { rows } = await world.pool.query<{ lines: number; state: string }>(
      `select (select count(*)::int from ledger.lines where source_id = $1) as lines,
              (select state from ledger.holds where source_id = $1) as state`,
      [id],
    )
    return rows[0]
  }
  return { world, store, replica, keys, typesOf, reaches, sent, moneyOf }
}
