import { execFile } from 'node:child_process'
import { cp, mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import type { Answer } from './driver/caller.ts'
import { TASKS } from './driver/tasks/video-a.ts'
import { makePacket, seededPicks, sendPacket } from '../fuzz/packet-support.ts'
import { codeOf, openScene, type Scene } from './scene.ts'
import { atLength } from '../helpers/long-run.ts'

t.setTimeout(1_200_000)

const run = promisify(execFile)
const DISK_BYTES = 48 * 1024 * 1024
const CHUNK = Buffer.alloc(64 * 1024)
/** A limit below the size the log's present file has: the next write to it fails. */
const FILE_LIMIT_BYTES = 1
const MOST_CREATIONS = 200
const PACKETS = atLength(40, 80)
/** The log stays without room for so long beyond the attack. */
const FULL_MS = atLength(500, 3_000)
const SEED = 7

/** A disk of the log's own that can be filled and emptied. */
interface Disk {
  readonly kind: string
  readonly fill: () => Promise<void>
  readonly free: () => Promise<void>
}

/** A small disk under the log, which takes the right to mount; the gateway must not run meanwhile. */
async function mountDisk(t: Test, directory: string): Promise<Disk> {
  const before = `${directory}.before`
  await rename(directory, before)
  await mkdir(directory)
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', directory])
  } catch (error) {
    await rm(directory, { recursive: true })
    await rename(before, directory)
    throw error
  }
  t.teardown(() => run('umount', ['-l', directory]))
  await cp(before, directory, { recursive: true })
  const filler = join(directory, 'filler')
  return {
    kind: 'a small separate disk',
    fill: async () => {
      const file = await open(filler, 'a')
      try {
        for (;;) await file.write(CHUNK)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      } finally {
        await file.close()
      }
    },
    free: () => rm(filler),
  }
}

/** Without that right: a limit on the size of any file the event store writes. */
async function limitFiles(scene: Scene): Promise<Disk> {
  const limit = async (bytes: string): Promise<void> => {
    const [pid] = scene.trial.machine.processes('event-store')
    await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`])
  }
  await limit('unlimited').catch((error: unknown) => {
    throw new Error(`files cannot be limited: ${String(error)}`)
  })
  return {
    kind: 'a limit on its files',
    fill: () => limit(String(FILE_LIMIT_BYTES)),
    free: () => limit('unlimited'),
  }
}

/** Each way to fill the log's disk that this machine allows, in short the first of them. @throws when there is none */
async function disksOf(t: Test, scene: Scene): Promise<readonly Disk[]> {
  const { machine } = scene.trial
  const problems: string[] = []
  const tryTo = (making: Promise<Disk>): Promise<Disk | undefined> =>
    making.catch((error: unknown) => void problems.push(String(error)))
  await machine.stop()
  const mounted = await tryTo(mountDisk(t, join(machine.dataDir, 'eventstore')))
  await machine.start()
  const isEnough = mounted !== undefined && atLength(true, false)
  const limited = isEnough ? undefined : await tryTo(limitFiles(scene))
  for (const problem of problems) t.comment(problem)
  const disks = [mounted, limited].filter((disk) => disk !== undefined)
  if (disks.length === 0) throw new Error(`no disk can be filled: ${problems.join('; ')}`)
  return disks
}

t.test('with the log’s disk full no task is sent or lost; with room it works again', async (t) => {
  const scene = await openScene(t)
  const early = await scene.recovered()
  await scene.reaches(early, 'succeeded')
  for (const disk of await disksOf(t, scene))
    await t.test(`with ${disk.kind}`, (t) => fillAndFree(t, scene, disk, early))
  await scene.judge()
})

async function fillAndFree(t: Test, scene: Scene, disk: Disk, early: string): Promise<void> {
  const open = await scene.create('running-ms=3000')
  t.equal(open.status, 200)

  await disk.fill()
  // The last room may be enough for the intent and too little for the outcome.
  const refused = await refusal(scene)
  t.ok([502, 503].includes(refused.status), `answered ${refused.status}`)
  const before = await scene.sentUpstream()
  await attack(t, scene)
  for (const answer of [await scene.create(), await scene.create()]) {
    t.equal(answer.status, 503)
    t.equal(codeOf(answer), 'service_unavailable')
  }
  t.equal(await scene.sentUpstream(), before, 'nothing was sent upstream')
  t.equal((await scene.get(early)).body['status'], 'succeeded', 'reads go on')
  await sleep(FULL_MS)

  await disk.free()
  await scene.reaches(await scene.recovered(), 'succeeded')
  await scene.reaches(String(open.body['id']), 'succeeded')
}

/** Small writes may still find room in what the file system had set aside. */
async function refusal(scene: Scene): Promise<Answer> {
  for (let made = 0; made < MOST_CREATIONS; made += 1) {
    const answer = await scene.create('tokens=0')
    if (answer.status !== 200) return answer
  }
  throw new Error(`${MOST_CREATIONS} creations were taken by a log without room`)
}

/** Sends what costs a caller nothing: each request is refused in order, and none ends the process. */
async function attack(t: Test, scene: Scene): Promise<void> {
  const { machine } = scene.trial
  const { pid, address = '' } = machine
  const port = Number(new URL(address).port)
  const draw = (body: object): Promise<Answer | undefined> =>
    scene.call('image', 'POST', '/v1/images/generations', {
      body: { model: 'image-2', prompt: 'a boat', size: '1024x1024', ...body },
    })
  const target = {
    name: 'the gateway',
    port,
    routes: ['POST /v1/images/generations', `POST ${TASKS}`, `GET ${TASKS}/x`, 'GET /v1/models'],
    credentials: ['', 'nonsense'],
    bodies: [{ line: 'POST /v1/responses', body: '{}' }],
  }
  const picks = seededPicks(SEED)
  const packets = Array.from({ length: PACKETS }, () => sendPacket(port, makePacket(picks, target)))
  t.notOk((await Promise.all(packets)).includes(500), 'no packet is a fault')
  const statuses = async (bodies: readonly object[]): Promise<readonly (number | undefined)[]> =>
    (await Promise.all(bodies.map(draw))).map((answer) => answer?.status)
  const each = (body: object): object[] => Array.from({ length: 20 }, () => body)
  t.same(
    await statuses([...each({ model: 'nope' }), ...each({ stream: true }), ...each({})]),
    [...each({}).map(() => 404), ...each({}).map(() => 503), ...each({}).map(() => 503)],
    'calls are refused by the model first, then for the log',
  )
  t.same(await statuses([{ ['a-'.repeat(20_000)]: 1 }]), [400], 'a long name is refused')
  t.equal(machine.pid, pid, 'no process ended')
}
