import { execFile } from 'node:child_process'
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import t from 'tap'
import type { PlacedBatch } from '../../../src/eventlog/journal/spool-record.ts'
import { openSpool, type Spool, type SpoolOptions } from '../../../src/eventlog/journal/spool.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { dice as diceOf } from '../../faults/driver/random.ts'
import { bare, bareEnvironment } from '../../helpers/child.ts'
import { nodeArguments } from '../../helpers/checkout.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { cancelled, range } from '../support/sample-events.ts'

const directory = await mkdtemp(join(tmpdir(), 'tollgate-spool-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
let directories = 0
const fresh = () => join(directory, String((directories += 1)))

/** The first file of an instance `a`. */
const FILE = 'a-000001.spool'
const batch = (index: number): PlacedBatch => ({
  stream: 'journal-i-0',
  expected: index === 0 ? 'no_stream' : BigInt(index - 1),
  events: [cancelled('journal', `c${index}`)],
})
/** Opens like a process with this instance id; `complaints` are its warnings and errors. */
async function open(path: string, instanceId: string, more: Partial<SpoolOptions> = {}) {
  const complaints: string[] = []
  const complain = (_: object, message: string) => void complaints.push(message)
  const spool = await openSpool({
    directory: path,
    instanceId,
    clock: systemClock,
    logger: { ...silentLog, warn: complain, error: complain },
    ...more,
  })
  t.teardown(() => spool.close().catch(() => undefined))
  return { spool, complaints }
}
/** The oldest batch alone. */
const first = async (spool: Spool) => (await spool.oldest(1))?.batches[0]
async function take(spool: Spool, maxBytes: number): Promise<readonly PlacedBatch[]> {
  const oldest = await spool.oldest(maxBytes)
  await oldest?.drop(oldest.batches.length)
  return oldest?.batches ?? []
}
async function takeAll(spool: Spool): Promise<PlacedBatch[]> {
  const all: PlacedBatch[] = []
  while (spool.state().batches > 0) all.push(...(await take(spool, 1)))
  await spool.oldest(1)
  return all
}

void t.test('batches come back in order, and the files go when they are empty', async (t) => {
  const path = fresh()
  const { spool } = await open(path, 'a')
  for (const index of range(3)) await spool.append(batch(index))
  t.equal(spool.state().batches, 3)
  t.ok(spool.state().sizeBytes > 0)
  t.same(await first(spool), batch(0))
  t.same(await first(spool), batch(0), 'until it is done')
  t.same(await takeAll(spool), range(3).map(batch))
  t.equal(spool.state().sizeBytes, 0)
  await spool.append(batch(3))
  t.same(await takeAll(spool), [batch(3)])
  await spool.close()
  t.same(await readdir(path), [])
})

void t.test('batches of an earlier process come first', async (t) => {
  const path = fresh()
  const first = await open(path, 'a')
  await first.spool.append(batch(0))
  await first.spool.append(batch(1))
  await first.spool.close()
  const { spool } = await open(path, 'b')
  await spool.append(batch(5))
  t.equal(spool.state().batches, 3)
  t.same(await takeAll(spool), [batch(0), batch(1), batch(5)])
  await spool.close()
  t.same(await readdir(path), [])
})

void t.test('a batch is read again until it is removed', async (t) => {
  const path = fresh()
  const first = await open(path, 'a')
  for (const index of range(3)) await first.spool.append(batch(index))
  t.same(await take(first.spool, 1), [batch(0)])
  // The process dies here: its file still has the batch it took off, which a repetition forgives.
  const second = await open(path, 'b')
  t.same(await takeAll(second.spool), range(3).map(batch))
  await second.spool.close()
})

/** The bytes of `a-000001.spool` with these batches, of a process that ended. */
async function writtenWith(path: string, count: number): Promise<Buffer> {
  const { spool } = await open(path, 'a')
  for (const index of range(count)) await spool.append(batch(index))
  await spool.close()
  return readFile(join(path, FILE))
}
/** What is kept aside, in the order of the names. */
async function keptIn(path: string): Promise<readonly Buffer[]> {
  const names = (await readdir(path)).filter((name) => name.includes('.corrupt-')).sort()
  return Promise.all(names.map(async (name) => readFile(join(path, name))))
}

void t.test('a torn last record is kept aside, cut off and reported', async (t) => {
  const path = fresh()
  const bytes = await writtenWith(path, 2)
  const end = bytes.indexOf('\n') + 1
  for (const [index, cut] of [7, 40, 150].entries()) {
    await writeFile(join(path, FILE), bytes.subarray(0, bytes.length - cut))
    const { spool, complaints } = await open(path, 'a')
    t.same(complaints, ['spool ended in a torn record'])
    t.equal(spool.state().batches, 1)
    await spool.append(batch(2))
    t.same(await takeAll(spool), [batch(0), batch(2)], `cut by ${cut}`)
    await spool.close()
    const kept = await keptIn(path)
    t.equal(kept.length, index + 1)
    t.ok(kept.some((each) => each.equals(bytes.subarray(end, bytes.length - cut))))
  }
})

void t.test('a last record that lacks only its line feed is whole', async (t) => {
  const path = fresh()
  const bytes = await writtenWith(path, 2)
  await writeFile(join(path, FILE), bytes.subarray(0, -1))
  const { spool, complaints } = await open(path, 'b')
  t.same(complaints, [])
  t.same(await takeAll(spool), [batch(0), batch(1)])
  t.same(await keptIn(path), [])
})

void t.test('a damaged record in the middle is reported and kept for an operator', async (t) => {
  const path = fresh()
  const text = (await writtenWith(path, 3)).toString()
  const changed = text.replace('video_c1', 'video_cX')
  await writeFile(join(path, FILE), changed)
  // Starts that end before the log answers make no further copies.
  for (const instance of ['d', 'e']) await (await open(path, instance)).spool.close()
  const { spool, complaints } = await open(path, 'b')
  t.same(complaints, ['spool has a damaged record'])
  t.same(await takeAll(spool), [batch(0), batch(2)])
  await spool.close()
  const names = await readdir(path)
  t.equal(names.length, 1)
  t.match(names[0], /^a-000001\.spool\.corrupt-/)
  t.equal(await readFile(join(path, names[0]!), 'utf8'), `${changed.split('\n')[1]}\n`)
})

void t.test('for any change of the disk, whole records land and the rest is kept', async (t) => {
  const bytes = await writtenWith(fresh(), 5)
  const lines = bytes.toString('latin1').split(/(?<=\n)/)
  const dice = diceOf('spool')
  for (const round of range(propertyRuns(300))) {
    const path = fresh()
    await mkdir(path)
    const at = dice.integer(0, bytes.length - 1)
    const changed = Buffer.from(bytes)
    const isCut = dice.chance(0.3)
    if (!isCut) changed.writeUInt8(changed.readUInt8(at) ^ (1 << dice.integer(0, 7)), at)
    const written = isCut ? changed.subarray(0, at) : changed
    await writeFile(join(path, FILE), written)
    let offset = 0
    const whole = range(5).filter((index) => {
      // The line feed may be damaged: the record before it is whole.
      const [from, to] = [offset, offset + lines[index]!.length - 1]
      offset = to + 1
      return isCut ? to <= at : at < from || at >= to
    })
    const { spool } = await open(path, 'b')
    t.same(
      await takeAll(spool),
      whole.map(batch),
      `round ${round}: ${isCut ? 'cut' : 'bit'} at ${at}`,
    )
    await spool.close()
    const lost = written.length - whole.reduce((sum, index) => sum + lines[index]!.length, 0)
    const keptBytes = (await keptIn(path)).reduce((sum, each) => sum + each.length, 0)
    t.ok(keptBytes === Math.max(0, lost), `${keptBytes} of ${lost} bytes`)
  }
})

void t.test('a torn record is not cut off unless it is saved first', async (t) => {
  const path = fresh()
  const bytes = await writtenWith(path, 3)
  const torn = bytes.subarray(0, -20)
  await writeFile(join(path, FILE), torn)
  const { spool } = await open(path, 'b')
  await spool.close()
  const [kept = ''] = (await readdir(path)).filter((name) => name.includes('.corrupt-'))
  await rm(join(path, kept))
  await writeFile(join(path, FILE), torn)
  // In the place of the copy, so that it cannot be made.
  await mkdir(join(path, `${kept}.new`))
  const second = await open(path, 'c')
  t.same(second.complaints, ['a damaged record of the spool cannot be kept'])
  t.same(await takeAll(second.spool), [batch(0), batch(1)], 'the others land')
  await second.spool.append(batch(7))
  await second.spool.close()
  t.ok((await readFile(join(path, FILE))).equals(torn))
})

void t.test('a record damaged while the process runs delays no other record', async (t) => {
  const path = fresh()
  const { spool, complaints } = await open(path, 'a')
  for (const index of range(4)) await spool.append(batch(index))
  const text = await readFile(join(path, FILE), 'utf8')
  for (const changed of ['video_c0', 'video_c2'])
    await writeFile(
      join(path, FILE),
      (await readFile(join(path, FILE), 'utf8')).replace(changed, 'video_cX'),
      { flag: 'r+' },
    )
  const { sizeBytes } = spool.state()
  const taken: PlacedBatch[] = []
  while (spool.state().batches > 0) taken.push(...(await take(spool, sizeBytes)))
  t.same(taken, [batch(1), batch(3)])
  t.same(complaints, ['spool has a damaged record', 'spool has a damaged record'])
  t.equal(spool.state().records, 0)
  const kept = (await keptIn(path)).map(String).sort()
  const changed = [0, 2].map((index) => text.split('\n')[index]!.replace(/video_c\d/, 'video_cX'))
  t.same(kept, changed.sort())
})

void t.test('garbage is not a record', async (t) => {
  const path = fresh()
  const empty = await open(path, 'a')
  await empty.spool.append(batch(0))
  await empty.spool.close()
  await appendFile(join(path, FILE), 'nonsense\n99999999 00000000 {}\n\n12 zz\n')
  const { spool } = await open(path, 'b')
  t.same(await takeAll(spool), [batch(0)])
  await spool.close()
})

void t.test('a full spool refuses and stays usable', async (t) => {
  const { spool } = await open(fresh(), 'a', { maxBytes: 700 })
  await spool.append(batch(0))
  await t.rejects(
    (async () => {
      for (const index of range(5)) await spool.append(batch(index + 1))
    })(),
    { message: 'the spool is full' },
  )
  const count = spool.state().batches
  t.ok(count >= 1 && count < 6)
  t.same(await takeAll(spool), range(count).map(batch))
  await spool.append(batch(9))
  t.same(await takeAll(spool), [batch(9)])
  await spool.close()
})

void t.test('many batches are read at once, up to a size', async (t) => {
  const { spool } = await open(fresh(), 'a')
  for (const index of range(10)) await spool.append(batch(index))
  const { sizeBytes } = spool.state()
  t.same(await take(spool, sizeBytes / 2 + 50), range(5).map(batch))
  t.same(
    await take(spool, sizeBytes),
    range(5).map((index) => batch(index + 5)),
  )
  await spool.close()
})

void t.test('segments are deleted while more is written', async (t) => {
  const path = fresh()
  const { spool } = await open(path, 'a', { segmentBytes: 700, maxBytes: 5_000 })
  for (const index of range(8)) await spool.append(batch(index))
  const most = (await readdir(path)).length
  t.ok(most > 2, `${most} files`)
  const taken: PlacedBatch[] = []
  for (const index of range(60)) {
    taken.push(...(await take(spool, 1)))
    await spool.append(batch(index + 8))
  }
  t.same(taken, range(60).map(batch))
  t.equal(spool.state().batches, 8, 'never empty')
  t.ok((await readdir(path)).length <= most + 1, 'and no more files than at first')
  t.same(
    await takeAll(spool),
    range(8).map((index) => batch(index + 60)),
  )
  t.equal(spool.state().sizeBytes, 0)
  await spool.close()
  t.same(await readdir(path), [])
})

void t.test('files of one process are read in the order they were written', async (t) => {
  const path = fresh()
  const { spool } = await open(path, 'a', { segmentBytes: 1 })
  for (const index of range(12)) await spool.append(batch(index))
  const { spool: next } = await open(path, 'b')
  t.same(await takeAll(next), range(12).map(batch))
})

void t.test('the state shows how many records wait, and since when', async (t) => {
  const path = fresh()
  let nowMs = 1_000
  const clock = { nowMs: () => nowMs }
  const { spool } = await open(path, 'a', { clock })
  const empty = { batches: 0, records: 0, sizeBytes: 0, maxBytes: 256 << 20, oldestAtMs: undefined }
  t.same(spool.state(), empty)
  const two = { ...batch(0), events: [cancelled('journal', 'x'), cancelled('journal', 'y')] }
  await spool.append(two)
  nowMs = 2_000
  await spool.append(batch(2))
  t.match(spool.state(), { batches: 2, records: 3, oldestAtMs: 1_000 })
  const { spool: next } = await open(path, 'b', { clock })
  t.match(next.state(), { batches: 2, records: 3, oldestAtMs: 1_000 }, 'also after a restart')
  await take(next, 1)
  t.match(next.state(), { batches: 1, records: 1, oldestAtMs: 2_000 })
  await takeAll(next)
  t.same(next.state(), empty)
})

void t.test('a file without a start time is as old as its modification time', async (t) => {
  const path = fresh()
  await mkdir(path)
  const body = JSON.stringify({ ...batch(0), expected: 'no_stream' })
  const line = `${body.length} ${crc32(body).toString(16).padStart(8, '0')} ${body}\n`
  await writeFile(join(path, 'a.spool'), line)
  await utimes(join(path, 'a.spool'), 5, 5)
  const { spool } = await open(path, 'b')
  t.match(spool.state(), { batches: 1, oldestAtMs: 5_000 })
  t.same(await takeAll(spool), [batch(0)])
  await spool.close()
  t.same(await readdir(path), [])
})

void t.test('a record cut off by a full disk is no record, and the file goes on', async (t) => {
  const path = fresh()
  const child = nodeArguments(new URL('spool-on-a-full-disk.ts', import.meta.url))
  // The shell counts in blocks of 512 or of 1024 bytes: some large batches fit, not all ten.
  const script = 'ulimit -f 120; exec "$0" "$@"'
  const args = bare('sh', ['-c', script, process.execPath, ...child, path])
  const { stdout } = await promisify(execFile)(...args, { env: bareEnvironment() })
  const { large, small, faults } = JSON.parse(stdout) as Readonly<Record<string, unknown>> & {
    large: number
  }
  t.ok(large > 0 && large < 10, `${large} large batches`)
  t.equal(small, true, 'a smaller one still fits')
  t.same(faults, ['EFBIG', 'EFBIG'], 'there is no room for a batch, whatever small one fits')
  const { spool, complaints } = await open(path, 'b')
  t.same(complaints, [])
  const commands = (await takeAll(spool)).map(({ events }) => events[0]?.metadata.commandId)
  t.same(commands, [...range(large).map((index) => `large-${index}`), 'small'])
})

void t.test('a spool that could not be written is, once there is room', async (t) => {
  const path = fresh()
  await mkdir(path)
  await writeFile(join(path, 'room'), 'of a process that died while it looked')
  const { spool } = await open(path, 'a', { maxBytes: 1 })
  t.same(await readdir(path), [FILE])
  t.equal(spool.fault(), undefined)
  await spool.lookForRoom()
  await spool.append(batch(0))
  await t.rejects(spool.append(batch(1)), { message: 'the spool is full' })
  await spool.lookForRoom()
  t.equal(spool.fault(), 'the spool is full')
  t.equal(spool.state().fault, 'the spool is full')
  t.equal((await takeAll(spool)).length, 1)
  t.equal(spool.fault(), 'the spool is full', 'until it is looked for')
  // A folder of that name is in the way of the file.
  await mkdir(join(path, 'room'))
  await spool.lookForRoom()
  t.equal(spool.fault(), 'EISDIR')
  await rm(join(path, 'room'), { recursive: true })
  await spool.lookForRoom()
  t.equal(spool.fault(), undefined)
  t.same(await readdir(path), [FILE], 'and nothing of it stays')
})
