import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { supervisePostgres } from '../../../infra/embedded/postgres/supervised.ts'
import type { Supervised } from '../../../infra/embedded/supervisor.ts'
import { type PretendedCluster, startPretendedCluster } from '../../helpers/cluster.ts'
import type { MachineStores } from './machine.ts'
import { postmastersBelow, processesOf, signal, type Target } from './processes.ts'
import type { Dice } from './random.ts'

/** Stores that the gateway does not start itself: a pretended cluster of three, and a Postgres. */

const MEMBERS = 3
/** Longest pause between two changes of the cluster. */
const QUIET_MS = 4_000
/** Longest time for which no member leads, or one of them is silent. */
const TROUBLE_MS = 1_800
/** Longest time until a cluster whose every process was killed is started again. */
const POWER_CUT_MS = 1_200

export class ClusterStores implements MachineStores {
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  /** What was done to the cluster, by kind. */
  readonly changes = new Map<string, number>()
  readonly #cluster: PretendedCluster
  readonly #postgres: Supervised
  readonly #root: string
  readonly #dice: Dice
  /** One order after the other: none goes to a process that is being started again. */
  #orders: Promise<unknown> = Promise.resolve()
  #leader = 0

  private constructor(cluster: PretendedCluster, postgres: Supervised, root: string, dice: Dice) {
    this.#cluster = cluster
    this.#postgres = postgres
    this.#root = root
    this.#dice = dice
    this.eventStoreUrl = cluster.url
    this.databaseUrl = postgres.current().url
  }

  static async open(directory: string, dice: Dice): Promise<ClusterStores> {
    const root = join(directory, 'postgres')
    const cluster = await startPretendedCluster()
    const postgres = supervisePostgres({ root, log: () => undefined })
    try {
      await postgres.ready
      return new ClusterStores(cluster, postgres, root, dice)
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#orders.catch(() => undefined)
    await Promise.all([this.#cluster.stop(), this.#postgres.stop()])
  }

  /** The cluster is killed whole, and is back a little later, led by its first member. */
  kill(target: Target): readonly number[] {
    if (target === 'everything') return [...this.kill('postgres'), ...this.kill('event-store')]
    if (target === 'event-store') {
      void this.#order(async () => {
        await this.#cluster.kill9()
        await sleep(this.#dice.integer(0, POWER_CUT_MS))
        await this.#cluster.restart()
        this.#leader = 0
      })
      return [this.#cluster.pid() ?? 0]
    }
    return this.#processes(target).filter((pid) => signal(pid, 'SIGKILL'))
  }

  /** Changes the cluster at random moments until it is stopped; then all of it serves. */
  disturb(): { readonly stop: () => Promise<void> } {
    const stopping = new AbortController()
    const work = (async () => {
      while (!stopping.signal.aborted) {
        await sleep(this.#dice.integer(50, QUIET_MS))
        await this.#change()
      }
    })()
    return {
      stop: async () => {
        stopping.abort()
        await work
        await this.#order(() => this.#cluster.recover())
      },
    }
  }

  #processes(target: Target): readonly number[] {
    const servers = postmastersBelow(this.#root)
    if (target === 'postgres') return servers
    return servers.flatMap((server) => processesOf(server, target))
  }

  #order(work: () => Promise<void>): Promise<void> {
    const done = this.#orders.then(work)
    this.#orders = done.catch(() => undefined)
    return done
  }

  /** One change, to its end: the cluster has a leader after it. */
  async #change(): Promise<void> {
    const dice = this.#dice
    const cluster = this.#cluster
    const next = (this.#leader + dice.integer(1, MEMBERS - 1)) % MEMBERS
    const follower = (this.#leader + dice.integer(1, MEMBERS - 1)) % MEMBERS
    const deposed = this.#leader
    const wait = () => sleep(dice.integer(50, TROUBLE_MS))
    const during = async (begin: () => Promise<void>, end: () => Promise<void>) => {
      await this.#order(begin)
      await wait()
      await this.#order(end)
    }
    const elect = async () => {
      await cluster.lead(next)
      this.#leader = next
    }
    const lost = (how: 'refuse' | 'freeze') =>
      during(() => cluster.silence(deposed, how), elect)
        .then(wait)
        .then(() => this.#order(() => cluster.recover()))
    const depose = (how: 'error' | 'connection') =>
      this.#order(async () => {
        await cluster.depose(next, how)
        this.#leader = next
      })
    const [name, change] = dice.weighted<readonly [string, () => Promise<void>]>([
      [3, ['leader changed', () => this.#order(elect)]],
      [4, ['leader deposed, its appends ended', () => depose('error')]],
      [4, ['leader deposed, its connections broken', () => depose('connection')]],
      [3, ['leader killed', () => lost('refuse')]],
      [3, ['leader frozen', () => lost('freeze')]],
      [3, ['no leader', () => during(() => cluster.nobodyLeads(), elect)]],
      [
        2,
        [
          'not ready',
          () =>
            during(
              () => cluster.notReady(),
              () => cluster.recover(),
            ),
        ],
      ],
      [
        2,
        [
          'answers lost',
          () =>
            during(
              () => cluster.loseAnswers(),
              () => cluster.setFault(''),
            ),
        ],
      ],
      [
        2,
        [
          'follower killed',
          () =>
            during(
              () => cluster.silence(follower, 'refuse'),
              () => cluster.recover(),
            ),
        ],
      ],
      [
        2,
        [
          'follower frozen',
          () =>
            during(
              () => cluster.silence(follower, 'freeze'),
              () => cluster.recover(),
            ),
        ],
      ],
    ])
    this.changes.set(name, (this.changes.get(name) ?? 0) + 1)
    await change()
  }
}
