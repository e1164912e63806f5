import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { tasksOf } from '../e2e/support/client.ts'
import { processesOf } from '../faults/driver/processes.ts'
import { freshDirectory } from '../faults/scene.ts'
import { nodeArguments } from '../helpers/checkout.ts'
import { eventually } from '../helpers/eventually.ts'
import { builtProduct } from '../helpers/product.ts'
import { notRoot } from '../helpers/requirements.ts'
import type { AttackOrder } from './support/other-account.ts'
import { serve } from './support/tollgate.ts'

const ATTACKER = nodeArguments(new URL('support/other-account.ts', import.meta.url))
/** An account that no program of the machine runs under. */
const STRANGER = 61_234
/** An ordinary account that every machine has: Postgres wants one with a name. */
const ORDINARY = 65_534
const RECOVERY_MS = 60_000

/** What an account could do, by its own words. */
async function attack(account: number, order: AttackOrder): Promise<readonly string[]> {
  const child = spawn(process.execPath, [...ATTACKER, String(account)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(order))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await once(child, 'close')
  const { as, did } = JSON.parse(text) as { as: number; did: readonly string[] }
  if (as !== account) throw new Error(`the attack ran as ${as}`)
  return did
}

function everythingBelow(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true }) as string[]
  return [folder, ...names.map((name) => join(folder, name))]
}

/** The TCP ports that processes listen on; none where the system does not say. */
function portsOf(pids: readonly number[]): readonly string[] {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].filter((path) => existsSync(path))
  const rows = tables.flatMap((path) => readFileSync(path, 'utf8').split('\n').slice(1))
  const listening = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, , , state]) => state === '0A')
    .map(([, at = '', , , , , , , , inode]) => [`socket:[${inode}]`, at] as const)
  const open = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
      } catch {
        return [] // It was closed meanwhile.
      }
    }),
  )
  return listening.filter(([socket]) => open.includes(socket)).map(([, at]) => at)
}

function storesOf(gateway: number, databaseFolder: string): readonly number[] {
  const [postmaster = ''] = readFileSync(
    join(databaseFolder, 'cluster', 'postmaster.pid'),
    'utf8',
  ).split('\n')
  return [...processesOf(gateway, 'event-store'), Number(postmaster)]
}

/** A data directory as an earlier release, or an operator's `mkdir`, leaves it. */
function openDirectory(dataDir: string, account: number): void {
  for (const folder of [dataDir, join(dataDir, 'notes')]) {
    mkdirSync(folder)
    chmodSync(folder, 0o777)
    chownSync(folder, account, account)
  }
  const letter = join(dataDir, 'notes', 'letter')
  writeFileSync(letter, 'for the operator')
  chmodSync(letter, 0o666)
  chownSync(letter, account, account)
}

/** A gateway on embedded stores, and all that another account could try. */
async function withstands(t: Test, account: number): Promise<void> {
  const dataDir = await freshDirectory(t)
  openDirectory(dataDir, account)
  const gateway = await serve(dataDir, {}, account)
  t.teardown(() => gateway.end('SIGKILL'))
  const runtime = JSON.parse(readFileSync(join(dataDir, 'runtime.json'), 'utf8')) as Omit<
    AttackOrder,
    'paths'
  >
  // Root's Postgres runs under another account, which passes through these two.
  const passable = account === 0 ? ['', 'postgres'] : []
  const paths = everythingBelow(dataDir)
  const exposed = paths.filter((path) => {
    const others = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (others & (passable.includes(relative(dataDir, path)) ? 0o066 : 0o077)) !== 0
  })
  t.same(exposed, [], 'no other account may do anything with what is there')
  t.ok(paths.length > 100, `${paths.length} files, folders and sockets`)
  if (process.platform === 'linux')
    t.same(portsOf(storesOf(gateway.pid, join(dataDir, 'postgres'))), [], 'no store has a port')
  t.same(await attack(STRANGER, { ...runtime, paths }), [], 'another account can do nothing')
  const own = await attack(account, { ...runtime, paths: [] })
  t.ok(own.includes('appended') && own.includes('ran a statement'), 'which its own account can')

  // A gateway that is held starts no store again: nothing listens in between.
  process.kill(gateway.pid, 'SIGSTOP')
  for (const pid of storesOf(gateway.pid, join(dataDir, 'postgres'))) process.kill(pid, 'SIGKILL')
  t.same(
    await attack(STRANGER, { ...runtime, paths }),
    [],
    'nor listen where a killed store listened',
  )
  process.kill(gateway.pid, 'SIGCONT')
  const tasks = tasksOf(gateway.demo.baseUrl, gateway.demo.modelToken)
  const created = await eventually(
    'a task is created',
    async () => tasks.created().catch(() => undefined),
    RECOVERY_MS,
  )
  await tasks.reaches(created, 'succeeded')
  t.equal(await gateway.end('SIGTERM'), 0)
}

t.test(
  'a gateway of root and commands of another account of the machine',
  { skip: notRoot },
  async (t) => {
    await withstands(t, 0)
  },
)

/** Why an ordinary account cannot run the program; false where it can. */
async function outOfReach(): Promise<string | false> {
  const { main } = await builtProduct()
  const reads = spawnSync(process.execPath, ['-e', `require('fs').accessSync('${main}')`], {
    uid: ORDINARY,
    gid: ORDINARY,
  })
  return reads.status === 0
    ? false
    : 'no other account reaches this checkout (chmod o+x its folders)'
}

const skip = notRoot || (await outOfReach())
t.test('a gateway of an ordinary account and commands of another account', { skip }, async (t) => {
  await withstands(t, ORDINARY)
})
