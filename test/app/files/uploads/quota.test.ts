import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { array, assert, asyncProperty, integer } from 'fast-check'
import t from 'tap'
import { createFileUseCases } from '../../../../src/app/files/use-cases.ts'
import { noLimits } from '../../../../src/app/spending/throttle/limits.ts'
import { createAccountFacts } from '../../../../src/app/accounts/account-facts.ts'
import { createReplicaGauges } from '../../../../src/app/spending/replica-gauges.ts'
import { createThrottle } from '../../../../src/app/spending/throttle/throttle.ts'
import {
  createUploadQuota,
  defaultUploadLimits,
  type UploadLimits,
} from '../../../../src/app/files/uploads/quota.ts'
import { allSettledOrThrow } from '../../../../src/kernel/all-settled.ts'
import { monotonicClock, systemClock } from '../../../../src/kernel/clock.ts'
import { createDiskFloor } from '../../../../src/storage/local/disk.ts'
import { openLocalStore } from '../../../../src/storage/local/store.ts'
import { namespacedObjects } from '../../../../src/storage/namespaced-objects.ts'
import { principalOf, startWorld, TENANT } from '../../support/world.ts'

const MIB = 1024 * 1024
const world = await startWorld(t)
const directory = await mkdtemp(join(tmpdir(), 'tollgate-quota-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
const place = await openLocalStore({
  directory,
  secret: 's',
  baseUrl: () => undefined,
  clock: systemClock,
})
const { store } = namespacedObjects(place, { namespace: 'tests.', startedAtMs: Date.now() })
const { deps } = world.replica()

let requests = 0
/** A process of its own, with the files of one tenant. */
function filesOf(
  limits: Partial<UploadLimits>,
  {
    tenantId = TENANT,
    nowMs = () => Date.now(),
    rate,
    checkDisk,
  }: {
    readonly tenantId?: string
    readonly nowMs?: () => number
    readonly rate?: number
    readonly checkDisk?: () => Promise<void>
  } = {},
) {
  const quota = createUploadQuota({
    pool: world.pool,
    readModels: deps.readModels,
    limits: { ...defaultUploadLimits, ...limits },
    checkDisk,
  })
  const throttle = createThrottle({
    facts: createAccountFacts(world),
    gauges: createReplicaGauges({ db: world.pool, replica: 'quota', clock: monotonicClock }),
    monotonic: monotonicClock,
  })
  const files = createFileUseCases({ ...deps, clock: { nowMs }, store, quota, throttle })
  const principal = {
    ...principalOf(tenantId),
    ...(rate === undefined ? {} : { limits: { ...noLimits, requestsPerMinute: rate } }),
  }
  const upload = async (sizeBytes: number) => {
    const kept = await files.keep(principal, Readable.from(pieces(sizeBytes)))
    const facts = { purpose: 'vision', filename: 'a.png' } as const
    const requestId = `req_${(requests += 1)}`
    return files.record(kept, { principal, requestId, ...facts })
  }
  const remove = (fileId: string) =>
    files.remove({ principal, requestId: `req_${(requests += 1)}`, fileId })
  return { files, quota, upload, remove, principal, use: () => quota.useOf(tenantId) }
}

function* pieces(sizeBytes: number): Generator<Buffer> {
  for (let at = 0; at < sizeBytes; at += 65_536)
    yield Buffer.alloc(Math.min(65_536, sizeBytes - at))
}

/** How many of some uploads were taken; the others must have met the quota. */
async function taken(uploads: readonly Promise<unknown>[]): Promise<number> {
  const ended = await Promise.allSettled(uploads)
  for (const one of ended)
    if (one.status === 'rejected') t.match(one.reason, { code: 'upload_quota_reached' })
  return ended.filter(({ status }) => status === 'fulfilled').length
}

void t.test('concurrent uploads never exceed the quota together', async (t) => {
  let tenants = 0
  await assert(
    asyncProperty(
      array(integer({ min: 1, max: 300_000 }), { minLength: 2, maxLength: 6 }),
      integer({ min: 1, max: 700_000 }),
      integer({ min: 1, max: 5 }),
      async (sizes, maxBytes, maxFiles) => {
        const tenantId = `tenant_q${(tenants += 1)}`
        const replicas = [0, 1].map(() => filesOf({ maxBytes, maxFiles }, { tenantId }))
        const ended = await Promise.allSettled(
          sizes.map((sizeBytes, index) => replicas[index % 2]!.upload(sizeBytes)),
        )
        const kept = ended.flatMap((one, index) =>
          one.status === 'fulfilled' ? [sizes[index] ?? 0] : [],
        )
        const sum = kept.reduce((a, b) => a + b, 0)
        t.ok(sum <= maxBytes && kept.length <= maxFiles)
        await world.settle()
        t.same(await replicas[0]?.use(), { files: kept.length, bytes: sum })
      },
    ),
    { numRuns: 25 },
  )
})

void t.test('of two uploads that fit only alone, at most one is kept', async (t) => {
  const tenantId = 'tenant_last_byte'
  const [a, b] = [0, 1].map(() => filesOf({ maxBytes: 10 * MIB }, { tenantId })) as [
    ReturnType<typeof filesOf>,
    ReturnType<typeof filesOf>,
  ]
  // Each alone fits to its last byte; they run against each other to the end.
  const count = await taken([a.upload(10 * MIB), b.upload(10 * MIB)])
  t.ok(count <= 1)
  const { bytes } = await a.use()
  t.equal(bytes, count * 10 * MIB)
  if (count === 0) await a.upload(10 * MIB)
  await t.rejects(b.upload(1), { code: 'upload_quota_reached', details: { limitedBy: 'bytes' } })
})

void t.test('files count until they are deleted or expire, also older ones', async (t) => {
  const tenantId = 'tenant_life'
  const lifeMs = 60_000
  const one = filesOf({ maxFiles: 2, lifeMs }, { tenantId })
  const first = await one.upload(100)
  await world.settle()
  // As after a new database, or for a file of before there was a quota.
  await world.pool.query('truncate ops.upload_reservations')
  const second = await one.upload(50)
  t.same(await one.use(), { files: 2, bytes: 150 })
  const reached = { code: 'upload_quota_reached', details: { limitedBy: 'files', limit: 2 } }
  await t.rejects(one.upload(1), reached)
  await one.remove(second.fileId)
  await world.settle()
  t.same(await one.use(), { files: 1, bytes: 100 })

  const later = filesOf({ lifeMs }, { tenantId, nowMs: () => Date.now() + lifeMs + 1_000 })
  const key = { principal: one.principal, fileId: first.fileId }
  t.match(await one.files.find(key), { expiresAtMs: first.expiresAtMs })
  const gone = { code: 'file_not_found' }
  await t.rejects(later.files.find(key), gone)
  await t.rejects(later.files.open(key), gone)
  await t.rejects(later.remove(first.fileId), gone)
  const page = { purpose: undefined, order: 'asc', after: undefined, limit: 10 } as const
  const { files } = await later.files.list({ principal: one.principal, ...page })
  t.same(files, [])

  const brief = filesOf({ lifeMs: 1 }, { tenantId: 'tenant_brief' })
  await brief.upload(10)
  await world.settle()
  await world.pool.query('truncate ops.upload_reservations')
  t.same(await brief.use(), { files: 0, bytes: 0 }, 'what has expired is not counted')
})

void t.test('an upload that breaks off, or whose process dies, frees its quota', async (t) => {
  const tenantId = 'tenant_broken'
  const one = filesOf({ maxFiles: 1 }, { tenantId })
  const broken = function* () {
    yield Buffer.alloc(100)
    throw new Error('the caller hung up')
  }
  await t.rejects(one.files.keep(one.principal, Readable.from(broken())), /hung up/)
  t.same(await one.use(), { files: 0, bytes: 0 })
  await one.quota.takeForTask(tenantId, 'of a process that died', 5)
  await t.rejects(one.upload(1), { code: 'upload_quota_reached' })
  await world.pool.query(
    `update ops.upload_reservations set expires_at = now() where tenant_id = $1`,
    [tenantId],
  )
  await one.upload(1)
  t.equal((await one.use()).files, 1)
})

void t.test('uploads count against the rate limits of the token', async (t) => {
  const one = filesOf({}, { tenantId: 'tenant_rate', rate: 2 })
  await allSettledOrThrow([one.upload(1), one.upload(1)])
  await t.rejects(one.upload(1), { code: 'rate_limited', details: { limitedBy: 'requests' } })
})

void t.test(
  'uploads are refused and broken off while free disk space is below its floor',
  async (t) => {
    let freeBytes = 100
    const checkDisk = createDiskFloor({
      directory,
      floorBytes: 100,
      freeBytes: () => Promise.resolve(freeBytes),
    })
    const one = filesOf({}, { tenantId: 'tenant_floor', checkDisk })
    await one.upload(1)
    const during = function* () {
      yield Buffer.alloc(1)
      freeBytes = 99
      // The next look at the disk is due by now.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250)
      yield Buffer.alloc(9 * MIB)
    }
    await t.rejects(one.files.keep(one.principal, Readable.from(during())), {
      code: 'storage_full',
    })
    await t.rejects(one.upload(1), { code: 'storage_full' })
    t.same(await one.use(), { files: 1, bytes: 1 }, 'nothing of what was refused is counted')
    t.equal(await createDiskFloor({ directory, floorBytes: 1 })(), undefined)
    await t.rejects(createDiskFloor({ directory, floorBytes: Number.MAX_SAFE_INTEGER })(), {
      code: 'storage_full',
    })
  },
)

void t.test('uploads a day are bounded, however many are deleted', async (t) => {
  const tenantId = 'tenant_day'
  const replicas = [0, 1].map(() => filesOf({ maxPerDay: 3 }, { tenantId }))
  const [one, two] = replicas
  for (const files of [one, two, one]) {
    const { fileId } = await files!.upload(1)
    await files!.remove(fileId)
  }
  for (const files of replicas)
    await t.rejects(files.upload(1), {
      code: 'upload_quota_reached',
      message: /3 uploads per day, including deleted ones/,
      details: { limitedBy: 'day', limit: 3 },
    })
  await one!.quota.takeForTask(tenantId, 'pictures of a task', 1)
  await world.pool.query(`update ops.upload_counts set hour = hour - interval '25 hours'`)
  t.ok((await one!.upload(1)).fileId, 'a day later')
})
