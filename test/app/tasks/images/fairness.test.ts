import t from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import { codeOf, type Replica, TENANT } from '../../support/world.ts'
import { imageInput, startImageScene } from './support/scene.ts'

const scene = await startImageScene(t)
const { world, replica } = scene
const taker = replica()
const OTHER = 'tenant_other'
const THIRD = 'tenant_third'
await world.tenant(OTHER, '10000')
await world.tenant(THIRD, '10000')
await world.settle()

const CROWD = 300
/** Of each replica. */
const imageLimits = { maxMaking: 3, maxMakingAChannel: 3 }

async function create(tenantId: string, count: number, from = taker): Promise<readonly string[]> {
  const ids: string[] = []
  for (let made = 0; made < count; made += 25)
    ids.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(25, count - made) }, async () => {
          const prompt = 'x [[sandbox first-byte-ms=150]]'
          return (await from.images.create(imageInput({ tenantId, prompt }))).platformId
        }),
      )),
    )
  return ids
}

/** Tasks in the order in which they were begun. */
async function begun(): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { type, data } of world.log.readAll())
    if (type === 'TaskStarted') ids.push((data as { platformId: string }).platformId)
  return ids
}

const hasBegun = (id: string): Promise<number> =>
  eventually(`${id} is begun`, async () => {
    const at = (await begun()).indexOf(id)
    return at === -1 ? undefined : at + 1
  })

const workers = (count: number): readonly Replica[] =>
  Array.from({ length: count }, () => replica({ policies: true, imageLimits }))

for (const count of [1, 2])
  t.test(`one task is not delayed by hundreds of another tenant, ${count} running`, async (t) => {
    await create(TENANT, CROWD)
    await world.settle()
    const making = workers(count)
    await eventually('they are at it', async () => (await begun()).length > 0)
    const [single] = await create(OTHER, 1)
    await world.settle()
    const before = (await begun()).length
    const at = await hasBegun(single!)
    // What was leased already, and what is begun until each replica has looked again.
    const turns = at - before
    t.ok(turns <= 2 * count * imageLimits.maxMaking, `begun as number ${turns} from then on`)
    await Promise.all(making.map((worker) => worker.stop()))
    await world.pool.query(`delete from tasks.polls where kind in ('make', 'finish')`)
  })

t.test('waiting tenants are served in turn', async (t) => {
  const crowd = new Set(await create(TENANT, 60))
  const [some, others] = [await create(OTHER, 12), await create(THIRD, 12)]
  await world.settle()
  const seen = (await begun()).length
  const making = workers(2)
  for (const id of [...some, ...others]) await hasBegun(id)
  await Promise.all(making.map((worker) => worker.stop()))
  const order = (await begun()).slice(seen)
  const last = Math.max(...[...some, ...others].map((id) => order.indexOf(id)))
  const ofCrowd = order.slice(0, last).filter((id) => crowd.has(id)).length
  t.ok(ofCrowd <= 12 + 2 * 2 * imageLimits.maxMaking, `${ofCrowd} of the crowd went before`)
  t.ok(ofCrowd >= 6, `the crowd has its turns as well: ${ofCrowd}`)
  await world.pool.query(`delete from tasks.polls where kind in ('make', 'finish')`)
})

t.test('a tenant may wait for at most half of the places left', async (t) => {
  const few = replica({ imageLimits: { maxWaiting: 8 } })
  const fill = async (tenantId: string): Promise<number> => {
    for (let count = 0; ; count += 1) {
      await world.settle()
      if ((await codeOf(create(tenantId, 1, few))) !== 'no error') return count
    }
  }
  t.equal(await fill(TENANT), 4, 'half of them, while no other waits')
  t.equal(await fill(OTHER), 2, 'then half of what is left')
  t.equal(await fill(THIRD), 1)
  const refused = few.images.create(imageInput({ tenantId: TENANT }))
  await t.rejects(refused, {
    code: 'rate_limited',
    details: { limitedBy: 'queue', limit: 4 },
    message: /images of yours are waiting \(4\)/,
  })
})
