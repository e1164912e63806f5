import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import t from 'tap'
import { allProjections } from '../../../projections/registry.ts'
import { historyOf } from '../../../projections/timeline/query.ts'
import { audit } from '../../../src/app/audit/audit.ts'
import { createOpenImageFile } from '../../../src/app/calls/images/keep.ts'
import { noCrash } from '../../../src/app/crash-points.ts'
import type { FileDeps } from '../../../src/app/files/deps.ts'
import type { FileView } from '../../../src/app/files/types.ts'
import { createFileUseCases } from '../../../src/app/files/use-cases.ts'
import { CLAIM_SETTLES_MS } from '../../../src/app/files/objects/claim.ts'
import { createPurgeRound } from '../../../src/app/files/objects/purge.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { openLocalStore } from '../../../src/storage/local/store.ts'
import { namespacedObjects } from '../../../src/storage/namespaced-objects.ts'
import { nodeArguments } from '../../helpers/checkout.ts'
import { principalOf, startWorld, TENANT } from '../support/world.ts'

const CHILD = new URL('support/crash-child.ts', import.meta.url)
const world = await startWorld(t)
const directory = await mkdtemp(join(tmpdir(), 'tollgate-files-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
const place = await openLocalStore({
  clock: systemClock,
  directory,
  secret: 'a secret',
  baseUrl: () => undefined,
})
const { namespace } = world
const objects = namespacedObjects(place, { namespace, startedAtMs: Date.now() })
const { store } = objects
const deps: FileDeps = {
  pool: world.pool,
  log: world.log,
  store,
  readModels: world.replica().deps.readModels,
  clock: systemClock,
  logger: silentLog,
  crashPoint: noCrash,
  quota: world.quota(),
  throttle: world.replica().deps.throttle,
}
const files = createFileUseCases(deps)
const mine = principalOf()
const theirs = principalOf('tenant_other')
let requests = 0
const requestId = (): string => `req_${(requests += 1)}`

async function upload(filename: string, purpose: FileView['purpose'] = 'vision', of = files) {
  const kept = await of.keep(mine, Readable.from([Buffer.from(`the bytes of ${filename}`)]))
  return of.record(kept, { principal: mine, requestId: requestId(), purpose, filename })
}

async function namesOf(part: Partial<Parameters<typeof files.list>[0]> = {}, of = files) {
  const page = { purpose: undefined, order: 'desc', after: undefined, limit: 100 } as const
  const { files: listed } = await of.list({ principal: mine, ...page, ...part })
  return listed.map(({ filename }) => filename)
}

async function keptKeys(): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('files/')) keys.push(key)
  return keys
}

void t.test('a file is found as soon as it is uploaded, and not after its deletion', async (t) => {
  const file = await upload('a.png')
  t.match(file, { filename: 'a.png', purpose: 'vision', sizeBytes: 18 })
  t.same(await namesOf(), ['a.png'], 'in the lists of who uploaded it')
  const elsewhere = createFileUseCases(deps)
  const key = { principal: mine, fileId: file.fileId }
  t.same(await elsewhere.find(key), file, 'in every process')
  const { body } = await elsewhere.open(key)
  t.equal(await text(body), 'the bytes of a.png')
  await elsewhere.remove({ ...key, requestId: requestId() })
  for (const of of [files, elsewhere]) {
    await t.rejects(of.find(key), { code: 'file_not_found' })
    await t.rejects(of.open(key), { code: 'file_not_found' })
  }
  await t.rejects(files.remove({ ...key, requestId: requestId() }), { code: 'file_not_found' })
  t.same(await namesOf({}, elsewhere), [])
  t.same(await keptKeys(), [])
})

void t.test('another tenant can neither find, open, delete nor list a file', async (t) => {
  const { fileId } = await upload('mine.png')
  const key = { principal: theirs, fileId }
  await t.rejects(files.find(key), { code: 'file_not_found' })
  await t.rejects(files.open(key), { code: 'file_not_found' })
  await t.rejects(files.remove({ ...key, requestId: requestId() }), { code: 'file_not_found' })
  await t.rejects(files.find({ principal: mine, fileId: 'file-x' }), { code: 'file_not_found' })
  t.same(await namesOf({ principal: theirs }), [])
  const after = { code: 'invalid_request', details: { param: 'after' } }
  await t.rejects(namesOf({ principal: theirs, after: fileId }), after)
  await t.rejects(namesOf({ after: 'file-01JD0000000000000000000001' }), after)
  const openImage = createOpenImageFile(deps)
  const refused = { code: 'invalid_request', details: { param: 'images[0]' } }
  await t.rejects(openImage(theirs, { fileId, param: 'images[0]' }), refused)
  await t.rejects(openImage(mine, { fileId, param: 'images[0]' }), refused, 'it is no picture')
  await files.remove({ principal: mine, fileId, requestId: requestId() })
})

void t.test('pages continue after the last file, whatever was deleted meanwhile', async (t) => {
  const made: FileView[] = []
  for (const name of ['1', '2', '3', '4', '5'])
    made.push(await upload(name, name === '3' ? 'user_data' : 'vision'))
  const [, second, third] = made
  t.same(await namesOf(), ['5', '4', '3', '2', '1'])
  t.same(await namesOf({ purpose: 'vision', order: 'asc' }), ['1', '2', '4', '5'])
  t.same(await namesOf({ order: 'asc', limit: 2 }), ['1', '2'])
  await files.remove({ principal: mine, fileId: second!.fileId, requestId: requestId() })
  t.same(await namesOf({ order: 'asc', after: second!.fileId }), ['3', '4', '5'])
  // Written by another process a moment ago.
  const elsewhere = createFileUseCases(deps)
  const last = await upload('6', 'vision', elsewhere)
  t.same(await namesOf({ after: last.fileId, limit: 1 }), ['5'])
  t.same(await namesOf({ after: third!.fileId }), ['1'])
  for (const { fileId, filename } of [...made, last])
    if (filename !== '2') await files.remove({ principal: mine, fileId, requestId: requestId() })
})

void t.test('bytes of an upload that is certainly not recorded are deleted', async (t) => {
  const failing = (code: 'log_unavailable' | 'log_outcome_unknown') =>
    createFileUseCases({
      ...deps,
      log: { ...world.log, append: () => Promise.reject(new DomainError(code, '', {})) },
    })
  await t.rejects(upload('a', 'vision', failing('log_unavailable')), { code: 'log_unavailable' })
  t.same(await keptKeys(), [])
  const unknown = { code: 'log_outcome_unknown' }
  await t.rejects(upload('a', 'vision', failing('log_outcome_unknown')), unknown)
  t.equal((await keptKeys()).length, 1)
  const away = createFileUseCases({
    ...deps,
    log: { ...world.log, ready: () => Promise.reject(new DomainError('log_unavailable', '', {})) },
  })
  await t.rejects(
    away.keep(mine, Readable.from([])),
    { code: 'log_unavailable' },
    'before a byte is taken',
  )
  const nowhere = createFileUseCases({ ...deps, store: undefined })
  const none = { code: 'storage_not_configured' }
  await t.rejects(nowhere.keep(mine, Readable.from([])), none)
  await t.rejects(namesOf({}, nowhere), none)
  for (const key of await keptKeys()) await store.remove(key)
})

void t.test('a process that dies during an upload leaves a file or bytes to purge', async (t) => {
  const points = ['file.after-object', 'file.after-uploaded', 'file.after-deleted']
  for (const crashAt of points) {
    const child = spawn(process.execPath, nodeArguments(CHILD), {
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    child.stdin.end(
      JSON.stringify({
        eventStoreUrl: world.store.url,
        namespace: world.namespace,
        databaseUrl: world.pool.options.connectionString,
        directory,
        principal: mine,
        crashAt,
      }),
    )
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
    t.equal(signal, 'SIGKILL', crashAt)
  }
  await world.settle()
  const elsewhere = createFileUseCases(deps)
  t.same(await namesOf({}, elsewhere), ['file.after-uploaded'])
  t.equal((await keptKeys()).length, 3)
  const replica = world.replica()
  const round = (aheadMs: number): Promise<unknown> =>
    createPurgeRound({
      ...replica.deps,
      clock: { nowMs: () => Date.now() + aheadMs },
      namespace,
      objects,
      registry: new Registry(),
    })(new AbortController().signal)
  await round(0)
  t.equal((await keptKeys()).length, 3, 'an upload may still be under way')
  await round(3_700_000)
  await round(3_700_000 + CLAIM_SETTLES_MS)
  const page = { purpose: undefined, order: 'desc', after: undefined, limit: 100 } as const
  const [file] = (await elsewhere.list({ principal: mine, ...page })).files
  t.same(await keptKeys(), [`files/${file?.fileId}`])
  const { body } = await elsewhere.open({ principal: mine, fileId: file!.fileId })
  t.equal(await text(body), 'file.after-uploaded')

  const history = await historyOf(world.pool, file!.fileId, { tenantId: TENANT }, { limit: 10 })
  t.same(
    history.items.map(({ type }) => type),
    ['FileUploaded'],
  )
})

void t.test('the audit finds no difference between the log and the files', async (t) => {
  await world.settle()
  const report = await audit({ pool: world.pool, log: world.log, models: allProjections })
  t.same(report.findings, [])
  t.ok(report.files >= 9, `${report.files} files`)
})
