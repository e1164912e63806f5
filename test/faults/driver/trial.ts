import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addUser, issueToken, openTenant } from '../../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../../src/app/accounts/credit.ts'
import { openDemoTenant } from '../../../src/app/accounts/demo.ts'
import { createEventLog } from '../../../src/eventlog/log/client.ts'
import { catalog } from '../../../src/families/index.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { currencies } from '../../../src/kernel/money.ts'
import { libraryOf, readLibrary, readLists, type Shown } from './assets/library.ts'
import { readLedger } from './bill.ts'
import { type Call, createCaller, type Tenant } from './caller.ts'
import { imageTasksOf } from './calls/oracle.ts'
import { libraryKey, runPriceBook, writeChannels } from './channels.ts'
import { type Findings, sentAs, usesOf, type When } from './findings.ts'
import { callsOf, isUpstreamTask, readLog, upstreamTasksOf } from './log-reader.ts'
import { type Demo, Machine, type MachineStores } from './machine.ts'
import { judge } from './oracle.ts'
import { dice } from './random.ts'
import { assetChecks, imageChecks, judgeReach, speechChecks } from './reach.ts'
import { type Sandbox, startSandbox } from './sandbox.ts'
import { type Creation, lostCreations, soundCreation } from './tasks/creations.ts'
import { follow, type Upstream } from './upstream-record.ts'
import { type Difference, Witness } from './witness.ts'
import { lastingPort } from '../../helpers/lasting-port.ts'
import type { Product } from '../../helpers/product.ts'

/** A gateway, its upstream and its callers, and the judgement over what they did together. */

const CHANNEL_TIMEOUT_MS = 1_500
const QUEUED_MS = 600
const RUNNING_MS = 1_500
/** How long nothing more may find its end, once there are no more faults, before that is the end. */
const SETTLE_STALL_MS = 300_000
const SETTLE_PAUSE_MS = 1_000

export interface TrialOptions {
  readonly build: Product
  /** An empty directory below one that other accounts may pass through. */
  readonly directory: string
  /** Of the sandbox's own dice. */
  readonly seed: number
  readonly say: (line: string) => void
  /** Stores that the gateway is given; it starts its own unless there are some. */
  readonly stores?: MachineStores | undefined
  /** Whether the clock of the gateway can be set. */
  readonly settableClock?: boolean
}

export class Trial {
  readonly witness = new Witness()
  readonly differences: Difference[] = []
  readonly machine: Machine
  readonly sandbox: Sandbox
  readonly #upstream: Upstream
  readonly #say: (line: string) => void
  readonly #stores: MachineStores | undefined
  #demo: Demo | undefined
  #opened: OpenedTenants | undefined

  private constructor(machine: Machine, sandbox: Sandbox, { say, stores }: TrialOptions) {
    this.machine = machine
    this.sandbox = sandbox
    this.#upstream = follow(sandbox)
    this.#say = say
    this.#stores = stores
  }

  /** Starts the sandbox, then the gateway for the first time, with credit for any number of tasks. */
  static async open(options: TrialOptions): Promise<Trial> {
    const { build, directory, seed } = options
    await mkdir(directory, { recursive: true, mode: 0o711 })
    const times = { queuedMs: QUEUED_MS, runningMs: RUNNING_MS }
    const sandbox = await startSandbox(build, directory, { ...times, seed })
    const priceBookFile = join(directory, 'prices.json')
    await writeFile(priceBookFile, await runPriceBook())
    const machine = new Machine({
      build,
      dataDir: join(directory, 'data'),
      logFile: join(directory, 'gateway.log'),
      ...(options.stores === undefined ? {} : { stores: options.stores }),
      ...(options.settableClock === true ? { clockFile: join(directory, 'clock') } : {}),
      environment: {
        CHANNELS_FILE: await writeChannels(directory, sandbox.url, CHANNEL_TIMEOUT_MS),
        PRICEBOOK_FILE: priceBookFile,
        FAULTS_UPSTREAM_KEY: 'one-account',
        ...libraryKey,
        POLL_SCALE: '0.3',
        LOG_LEVEL: 'info',
        ...(options.stores === undefined ? {} : await environmentOf(options.stores)),
      },
    })
    const trial = new Trial(machine, sandbox, options)
    try {
      await trial.#begin()
    } catch (error) {
      await trial.close()
      throw error
    }
    return trial
  }

  get demo(): Demo {
    if (this.#demo === undefined) throw new Error('the trial has not begun')
    return this.#demo
  }

  /** A caller of the demo tenant whose answers are looked at. */
  caller(): Call {
    return this.#callerBy(this.demo.modelToken)
  }

  /** Who calls, the demo tenant first. */
  get tenants(): readonly Tenant[] {
    const { tenantId, modelToken } = this.#others.second
    return [
      { tenantId: this.demo.tenantId, call: this.caller() },
      { tenantId, call: this.#callerBy(modelToken) },
    ]
  }

  /**
   * Tasks of each account that something is lost of at the end: a list that shows no task of ours proves no absence, and
   * on a slow machine the traffic may leave none. Made before the gateway's clock goes ahead of upstream's.
   */
  async makeSome(): Promise<void> {
    for (const lost of lostCreations(dice('lost'))) {
      const sound = soundCreation(dice('sound'), lost, lost.marker.replace('lost', 'sound'))
      const { intended, answer, platformId } = await this.#create(sound)
      const id = answer?.body['id'] ?? answer?.body['task_id']
      if (answer?.status !== 200 || typeof id !== 'string' || platformId === undefined)
        throw new Error(`a creation was refused: ${answer?.status ?? 'no answer'}`)
      intended.platformIds.add(platformId)
      intended.nativeIds.add(id)
    }
  }

  /** Whatever became of the traffic, something is given up at the end, and something expires. */
  async loseSome(): Promise<void> {
    for (const creation of lostCreations(dice('lost'))) {
      const { intended, answer, platformId } = await this.#create(creation)
      if (answer?.status === 502 && platformId !== undefined) intended.platformIds.add(platformId)
      else throw new Error(`a creation was not lost: ${answer?.status ?? 'no answer'}`)
    }
  }

  async #create(creation: Creation) {
    const intended = this.witness.intend(creation)
    const { path, body } = creation
    const answer = await this.caller()('create', 'POST', path, { body })
    return { intended, answer, platformId: answer?.headers.get('x-platform-id') ?? undefined }
  }

  /**
   * Peace: everything that can find its end does. What differs once no more does is kept, except for differences that
   * are `excused`: they never end, and are not waited for.
   */
  async settle(
    when: When = 'present',
    excused: (difference: Difference) => boolean = () => false,
  ): Promise<Findings> {
    let stalledMs = performance.now() + SETTLE_STALL_MS
    let fewest = Number.POSITIVE_INFINITY
    let said = -1
    for (;;) {
      const findings = await this.#look(when)
      const differences = judge(findings).filter((one) => !excused(one))
      if (differences.length === 0) return findings
      if (differences.length < fewest) {
        fewest = differences.length
        stalledMs = performance.now() + SETTLE_STALL_MS
      }
      if (performance.now() > stalledMs) {
        this.differences.push(...differences)
        return findings
      }
      const [first] = differences
      if (differences.length !== said)
        this.#say(
          `settling (${when}): ${differences.length} left, such as ${first?.code ?? ''} ${first?.subject ?? ''}: ${first?.message ?? ''}`,
        )
      said = differences.length
      await sleep(SETTLE_PAUSE_MS)
    }
  }

  /** Every id is found, the books are equal, the gateway ends in order and leaves nothing behind. */
  async conclude({ tasks, calls, assets }: Findings): Promise<void> {
    const call = this.caller()
    const further = [
      ...assetChecks(this.tenants, this.witness.assets, assets.logged),
      ...imageChecks(call, this.witness.calls, calls.tasks),
      ...speechChecks(call, this.witness.calls),
    ]
    this.differences.push(...(await judgeReach(this.tenants, this.witness, tasks, further)))
    await this.#command(['audit'])
    await this.#command(['rebuild', 'assets', 'ledger', 'tasks', 'timeline'])
    await this.machine.stop()
    const left = this.machine.leftOver()
    if (left.length > 0)
      this.differences.push({ code: 'orphans', subject: left.join(' '), message: 'still running' })
  }

  /** Lets go of everything, however it went. */
  async close(): Promise<void> {
    await this.machine.clear()
    await this.#upstream.stop()
  }

  get #others(): OpenedTenants {
    if (this.#opened === undefined) throw new Error('the trial has not begun')
    return this.#opened
  }

  #callerBy(token: string): Call {
    return createCaller({ address: () => this.machine.address, token, witness: this.witness })
  }

  async #begin(): Promise<void> {
    if ((await this.machine.start()) === 'ended')
      throw new Error(`the gateway does not start:\n${this.machine.tail()}`)
    const { eventStoreUrl } = await this.machine.runtime()
    this.#demo =
      this.#stores === undefined ? await this.machine.demo() : await openDemo(eventStoreUrl)
    this.#opened = await openTenants(eventStoreUrl, this.#demo.tenantId)
  }

  async #command(args: readonly string[]): Promise<void> {
    const { exitCode, output } = await this.machine.command(args)
    const subject = args.join(' ')
    this.#say(`${subject}: ${output.trim().split('\n').at(-1) ?? ''}`)
    if (exitCode !== 0)
      this.differences.push({ code: `${args[0]}_failed`, subject, message: output })
  }

  /** What each tenant's own lists show. */
  async #shown(): Promise<ReadonlyMap<string, Shown>> {
    const lists = new Map<string, Shown>()
    for (const { tenantId, call } of this.tenants) lists.set(tenantId, await readLists(call))
    return lists
  }

  async #look(when: When): Promise<Findings> {
    const { machine, sandbox, witness } = this
    const { address } = machine
    if (address === undefined) throw new Error(`the gateway is down:\n${machine.tail()}`)
    const { eventStoreUrl } = await machine.runtime()
    // Upstream first: of what it accepts while we look, the log knows before it does.
    const accepted = await sandbox.accepted()
    const library = await readLibrary(sandbox.url)
    const calls = {
      accepted: await this.#upstream.calls(),
      markers: await this.#upstream.markers(),
      uploads: this.#upstream.uploads(),
    }
    const log = await readLog(eventStoreUrl)
    const all = await readLedger(address, this.#others.queryToken)
    const tasks = upstreamTasksOf(log)
    const known = sentAs(tasks, calls.markers, witness)
    return {
      accepted,
      tasks,
      sentAs: known,
      assets: {
        upstream: library,
        logged: libraryOf(log),
        shown: await this.#shown(),
        witness: witness.assets,
        uses: usesOf(tasks, known, witness),
        isOver: when === 'past-every-deadline',
      },
      lines: all.filter(({ source_id: id }) => isUpstreamTask(id)),
      calls: {
        ...calls,
        calls: callsOf(log),
        tasks: imageTasksOf(log),
        lines: all.filter(({ source_id: id }) => !isUpstreamTask(id)),
        witness: witness.calls,
        deathsMs: machine.deathsMs,
        mayBeOpen: when === 'present',
      },
      witness,
      when,
    }
  }
}

/** What a gateway needs to run on stores that it did not start. */
async function environmentOf({
  eventStoreUrl,
  databaseUrl,
}: MachineStores): Promise<Readonly<Record<string, string>>> {
  const port = await lastingPort()
  return {
    EVENTSTORE_URL: eventStoreUrl,
    DATABASE_URL: databaseUrl,
    MARKER_SECRET: 'the secret of a run that is long enough',
    OBJECT_STORAGE: 'local',
    PORT: String(port),
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
  }
}

/** Who calls in a run beside the demo tenant, and who reads what all of them are billed. */

const NAMESPACE = 'tollgate.'
const CREDIT = '100000000'
const SECOND = { tenantId: 'tenant_second', userId: 'user_second' } as const

interface OpenedTenants {
  readonly second: { readonly tenantId: string; readonly modelToken: string }
  /** Reads the ledger of every tenant. */
  readonly queryToken: string
}

/** Opens the demo tenant, which the gateway opens by itself only on stores of its own. */
async function openDemo(eventStoreUrl: string): Promise<Demo> {
  const log = createEventLog({ url: eventStoreUrl, namespace: NAMESPACE })
  try {
    const deps = { log, catalog, clock: systemClock, correlationId: 'faults', actor: 'faults' }
    return await openDemoTenant(deps)
  } finally {
    await log.close()
  }
}

/** Opens the second tenant beside a running gateway, and gives both credit for any number of tasks. */
async function openTenants(eventStoreUrl: string, demoTenantId: string): Promise<OpenedTenants> {
  const log = createEventLog({ url: eventStoreUrl, namespace: NAMESPACE })
  try {
    const deps = { log, catalog, clock: systemClock, correlationId: 'faults', actor: 'faults' }
    await openTenant(deps, { tenantId: SECOND.tenantId, name: 'Second' })
    await addUser(deps, { ...SECOND, name: 'Second user' })
    for (const tenantId of [demoTenantId, SECOND.tenantId])
      for (const currency of currencies)
        await grantCredit(deps, { tenantId, currency, amount: CREDIT, reason: 'faults' })
    const model = await issueToken(deps, { ...SECOND, kind: 'model', name: 'model' })
    const query = await issueToken(deps, {
      ...SECOND,
      kind: 'query',
      name: 'query',
      scope: { level: 'all_tenants' },
    })
    return {
      second: { tenantId: SECOND.tenantId, modelToken: model.secret },
      queryToken: query.secret,
    }
  } finally {
    await log.close()
  }
}
