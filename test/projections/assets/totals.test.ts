import t from 'tap'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { assetsProjection } from '../../../projections/assets/projection.ts'
import { CountedTotals, findAssets, findGroups } from '../../../projections/assets/query.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { applied, testPool } from '../support/database.ts'
import { Recorder } from '../support/history.ts'
import { recordAsset, recordGroup } from '../support/library.ts'

const asked = {
  tenantId: 'tenant_1',
  userId: 'user_1',
  groupType: 'AIGC',
  region: undefined,
  projectName: undefined,
  groupIds: undefined,
  name: 'boat',
  pageNumber: 1,
  pageSize: 10,
  sortBy: 'CreateTime',
  sortOrder: 'Desc',
} as const

t.test('a counted total is counted again once its list has changed', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const log: RecordedEvent[] = []
  const happens = async (...events: readonly RecordedEvent[]): Promise<void> => {
    log.push(...events)
    await applied(t, pool, log, [assetsProjection])
  }
  let countings = 0
  const query = pool.query.bind(pool) as (...asks: readonly unknown[]) => unknown
  const db = {
    query: (text: unknown, ...values: readonly unknown[]) => {
      if (String(text).includes('count(*)')) countings += 1
      return query(text, ...values)
    },
  } as Queryable
  const counted = new CountedTotals()
  const assets = async (more: object = {}) =>
    (await findAssets(db, { ...asked, statuses: undefined, ...more }, counted)).total
  const groups = async () => (await findGroups(db, asked, counted)).total

  const boats = [0, 1, 2].map((n) => ({ n, tenantId: 'tenant_1', name: `boat ${n}`, group: 0 }))
  const [first, second, third] = boats
  const group = { n: 0, tenantId: 'tenant_1', name: 'boats' }
  if (first === undefined || second === undefined || third === undefined) return
  await happens(
    ...recordGroup(recorder, group, 'created', 'accepted'),
    ...recordAsset(recorder, first, 'created', 'accepted', 'activated'),
    ...recordAsset(recorder, second, 'created', 'accepted'),
  )
  const counts = async (
    what: string,
    total: number,
    anew: number,
    of: () => Promise<number> = assets,
  ): Promise<void> => {
    const before = countings
    t.equal(await of(), total, what)
    t.equal(countings - before, anew, `${what}: counted ${anew} times`)
  }

  await counts('the first page', 2, 1)
  await counts('a further page', 2, 0, () => assets({ pageNumber: 2 }))
  await counts('in another order', 2, 0, () => assets({ sortBy: 'GroupId', sortOrder: 'Asc' }))
  await counts('narrowed', 1, 1, () => assets({ statuses: ['Active'] }))
  await counts('groups are another list', 1, 1, groups)

  await happens(...recordAsset(recorder, { ...first, n: 8, tenantId: 'tenant_2' }, 'created'))
  await counts('another tenant has one more', 2, 0)
  await happens(...recordAsset(recorder, third, 'created'))
  await counts('one more', 3, 1)
  await happens(...recordAsset(recorder, first, 'updated'))
  await counts('one that has another name now', 2, 1)
  await counts('likewise where it is narrowed', 0, 1, () => assets({ statuses: ['Active'] }))
  await happens(...recordAsset(recorder, second, 'activated'))
  await counts('one that has come to an end', 1, 1, () => assets({ statuses: ['Active'] }))
  await happens(...recordAsset(recorder, second, 'withdrawn', 'deleted'))
  await counts('one less', 1, 1)
  await counts('groups are as they were', 1, 0, groups)
  await happens(...recordGroup(recorder, group, 'updated'))
  await counts('a group that has another name now', 0, 1, groups)
})
