import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openSpool, type PlacedBatch, type Spool } from '../../src/eventlog/spool.ts'
import { silentLog } from '../../src/kernel/log.ts'
import { cancelled, range } from './sample-events.ts'

const directory = await mkdtemp(join(tmpdir(), 'tollgate-spool-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
let directories = 0
const fresh = () => join(directory, String((directories += 1)))

const batch = (index: number): PlacedBatch => ({
  stream: 'journal-i-0',
  expected: index === 0 ? 'no_stream' : BigInt(index - 1),
  events: [cancelled('journal', `c${index}`)],
})
/** Opens like a process with this instance id; `complaints` are its warnings and errors. */
async function open(path: string, instanceId: string, maxBytes?: number) {
  const complaints: string[] = []
  const complain = (_: object, message: string) => void complaints.push(message)
  const spool = await openSpool({
    directory: path,
    instanceId,
    logger: { ...silentLog, warn: complain, error: complain },
    ...(maxBytes === undefined ? {} : { maxBytes }),
  })
  t.teardown(() => spool.close().catch(() => undefined))
  return { spool, complaints }
}
async function takeAll(spool: Spool): Promise<PlacedBatch[]> {
  const all: PlacedBatch[] = []
  for (let head = await spool.head(); head !== undefined; head = await spool.head()) {
    all.push(head.batch)
    await head.done()
  }
  return all
}

void t.test('batches come back in order, and the files go when they are empty', async (t) => {
  const path = fresh()
  const { spool } = await open(path, 'a')
  for (const index of range(3)) await spool.append(batch(index))
  t.equal(spool.pending(), 3)
  t.ok(spool.sizeBytes() > 0)
  t.same((await spool.head())?.batch, batch(0))
  t.same((await spool.head())?.batch, batch(0), 'until it is done')
  t.same(await takeAll(spool), range(3).map(batch))
  t.equal(spool.sizeBytes(), 0)
  await spool.append(batch(3))
  t.same(await takeAll(spool), [batch(3)])
  await spool.close()
  t.same(await readdir(path), [])
})

void t.test('what an earlier process left comes first', async (t) => {
  const path = fresh()
  const first = await open(path, 'a')
  await first.spool.append(batch(0))
  await first.spool.append(batch(1))
  await first.spool.close()
  const { spool } = await open(path, 'b')
  await spool.append(batch(5))
  t.equal(spool.pending(), 1)
  t.equal(spool.pendingTotal(), 3)
  t.same(await takeAll(spool), [batch(0), batch(1), batch(5)])
  await spool.close()
  t.same(await readdir(path), [])
})

void t.test('a batch is there again until it is taken off', async (t) => {
  const path = fresh()
  const first = await open(path, 'a')
  for (const index of range(3)) await first.spool.append(batch(index))
  await (await first.spool.head())!.done()
  // The process dies here: its file still has the batch it took off, which a repetition forgives.
  const second = await open(path, 'b')
  t.same(await takeAll(second.spool), range(3).map(batch))
  await second.spool.close()
})

void t.test('a torn last record is cut off and reported', async (t) => {
  const path = fresh()
  const whole = await open(path, 'a')
  await whole.spool.append(batch(0))
  await whole.spool.append(batch(1))
  await whole.spool.close()
  const bytes = await readFile(join(path, 'a.spool'))
  for (const cut of [1, 7, 40, 150]) {
    await writeFile(join(path, 'a.spool'), bytes.subarray(0, bytes.length - cut))
    const { spool, complaints } = await open(path, 'a')
    t.same(complaints, ['spool ended in a torn record'])
    t.equal(spool.pending(), 1)
    await spool.append(batch(2))
    t.same(await takeAll(spool), [batch(0), batch(2)], `cut by ${cut}`)
    await spool.close()
  }
})

void t.test('a corrupt record in the middle is reported and kept for a person', async (t) => {
  const path = fresh()
  const whole = await open(path, 'a')
  for (const index of range(3)) await whole.spool.append(batch(index))
  await whole.spool.close()
  const text = await readFile(join(path, 'a.spool'), 'utf8')
  await writeFile(join(path, 'a.spool'), text.replace('video_c1', 'video_cX'))
  const { spool, complaints } = await open(path, 'b')
  t.same(complaints, ['spool holds corrupt records'])
  t.same(await takeAll(spool), [batch(0), batch(2)])
  await spool.close()
  const names = await readdir(path)
  t.equal(names.length, 1)
  t.match(names[0], /^a\.spool\.corrupt-/)
})

void t.test('garbage is no record', async (t) => {
  const path = fresh()
  const empty = await open(path, 'a')
  await empty.spool.append(batch(0))
  await empty.spool.close()
  await appendFile(join(path, 'a.spool'), 'nonsense\n99999999 00000000 {}\n\n12 zz\n')
  const { spool } = await open(path, 'b')
  t.same(await takeAll(spool), [batch(0)])
  await spool.close()
})

void t.test('a full spool refuses and stays usable', async (t) => {
  const { spool } = await open(fresh(), 'a', 700)
  await spool.append(batch(0))
  await t.rejects(
    (async () => {
      for (const index of range(5)) await spool.append(batch(index + 1))
    })(),
    { message: 'the spool is full' },
  )
  const count = spool.pending()
  t.ok(count >= 1 && count < 6)
  t.same(await takeAll(spool), range(count).map(batch))
  await spool.append(batch(9))
  t.same(await takeAll(spool), [batch(9)])
  await spool.close()
})
