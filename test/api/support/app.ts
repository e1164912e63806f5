import type { ImageCallFamily } from '../../../src/app/calls/images/family.ts'
import type { FastifyInstance } from 'fastify'
import pino, { type Logger } from 'pino'
import { Registry } from 'prom-client'
import { type ApiOptions, buildApp, type GatewayServices } from '../../../src/api/app.ts'
import { createFingerprintOf } from '../../../src/api/kit/bodies/body-fingerprint.ts'
import { logRedaction } from '../../../src/api/kit/routes/log-lines.ts'
import type { AccountReads } from '../../../src/api/query/account-reads.ts'
import type { Authenticate, Principal } from '../../../src/app/access/principal.ts'
import type { ManagedProposals } from '../../../src/app/accounts/managed-proposals.ts'
import type { ManagedIssuer } from '../../../src/app/finance/statements/issuer.ts'
import type { ManagedVoids } from '../../../src/app/finance/statements/void.ts'
import type { ManagedTenants } from '../../../src/app/accounts/managed-tenants.ts'
import type { ManagedTokens } from '../../../src/app/accounts/managed-tokens.ts'
import type { ManagedSettings } from '../../../src/app/accounts/settings.ts'
import { noCrash } from '../../../src/app/crash-points.ts'
import type { ManagedPriceBooks } from '../../../src/app/finance/prices/managed-price-books.ts'
import type { Statements } from '../../../src/app/finance/statements/types.ts'
import type { LifeActions } from '../../../src/app/support/actions/life-actions.ts'
import { noLimits } from '../../../src/app/spending/throttle/limits.ts'
import { catalog, families } from '../../../src/families/index.ts'
import { type FamilyDeps, openFamilies } from '../../../src/families/module.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { MemoryAssets } from './memory-assets.ts'
import {
  memoryCalls,
  MemoryImages,
  MemorySpeech,
  MemoryTexts,
  noImageTasks,
} from './memory-calls.ts'
import { MemoryLedger } from './memory-ledger.ts'
import { MemoryFiles, MemoryMedia, noQuota } from './memory-media.ts'
import { MemoryTasks } from './memory-tasks.ts'
import { noThrottle } from './no-throttle.ts'

const noSpeed = {
  key: undefined,
  answered: 0,
  failed: 0,
  medianMs: undefined,
  p95Ms: undefined,
  firstByteMedianMs: undefined,
  firstByteP95Ms: undefined,
}

/** Accounts of a gateway that nobody has used. */
const noAccounts: AccountReads = {
  balances: () => Promise.resolve({ byTenant: new Map(), asOf: undefined }),
  openHolds: () => Promise.resolve(new Map()),
  pastBalances: () => Promise.resolve(new Map()),
  credits: () => Promise.resolve({ items: [], next: undefined }),
  holds: () => Promise.resolve({ holds: [], total: 0 }),
  creditSums: () => Promise.resolve([]),
  proposers: () => Promise.resolve(new Map()),
  tokenUsers: () => Promise.resolve(new Map()),
  movements: () => Promise.resolve({ openingPico: 0n, closingPico: 0n, movements: [] }),
  tenants: () => Promise.resolve([]),
  openLogs: () => Promise.resolve({ total: 0, page: () => Promise.resolve([]) }),
  logFacts: () =>
    Promise.resolve({ tokens: new Map(), events: new Map(), requestedAtMs: new Map() }),
  sourcesOf: (taskId) => Promise.resolve([taskId]),
  tasks: () => Promise.resolve({ rows: [], total: 0 }),
  tasksBehind: () => Promise.resolve([]),
  settledAmounts: () => Promise.resolve(new Map()),
  names: ({ tenants }) =>
    Promise.resolve({
      tenants: new Map(tenants.map((id) => [id, `name of ${id}`])),
      users: new Map(),
      tokens: new Map(),
    }),
  failurePosition: (asked) => Promise.resolve(asked ?? 0n),
  failures: () => Promise.resolve({ items: [], next: undefined }),
  lives: () => Promise.resolve({ items: [], next: undefined }),
  refusals: () => Promise.resolve({ items: [], next: undefined }),
  changes: () => Promise.resolve({ items: [], next: undefined }),
  changeActors: (name) => Promise.resolve([name]),
  tokenOwners: () => Promise.resolve(new Map()),
  repeats: () => Promise.resolve({ items: [], next: undefined }),
  speed: () => Promise.resolve({ groups: new Map(), total: noSpeed, step: 1 }),
  usage: () => Promise.resolve([]),
  tagKeys: () => Promise.resolve([]),
  usageExtent: () => Promise.resolve(undefined),
  zoneOf: () => Promise.resolve('UTC'),
}

const billing: GatewayServices['queries']['billing'] = {
  issuer: 'gateway.example',
  requirePrices: () => Promise.resolve(),
  accountAt: (tenantId) =>
    Promise.resolve({ name: `name of ${tenantId}`, userNames: new Map(), termsChanges: [] }),
  balancesAt: () => Promise.resolve([]),
  tenants: async function* tenants() {},
}

const everything = {
  noun: 'name',
  isKnown: () => Promise.resolve(true),
  others: () => Promise.resolve([]),
}

/** Takes every name for one that is there. */
const everyName: GatewayServices['queries']['knownNames'] = {
  tenant_id: everything,
  user_id: everything,
  token_id: everything,
  model: everything,
  sku: everything,
}

const noTenant = (): Promise<never> =>
  Promise.reject(new DomainError('tenant_not_found', 'the tenant does not exist', {}))
const noToken = (): Promise<never> =>
  Promise.reject(new DomainError('token_not_found', 'the token does not exist', {}))

const noBook = (): Promise<never> =>
  Promise.reject(new DomainError('price_book_not_found', 'there are none', {}))

/** Of a gateway that has neither tenants nor tokens. */
const noTenants: ManagedTenants = {
  list: () => Promise.resolve([]),
  find: noTenant,
  open: noTenant,
  users: noTenant,
  addUser: noTenant,
  user: noTenant,
  renameUser: noTenant,
  grant: noTenant,
  setLimit: noTenant,
  adjust: noTenant,
}

const noProposals: ManagedProposals = {
  list: () => Promise.resolve([]),
  find: noTenant,
  toDecide: () => Promise.resolve({ proposals: 0, voids: 0 }),
  approve: noTenant,
  reject: noTenant,
}

const noIssuer: ManagedIssuer = {
  keys: () => Promise.resolve([]),
  show: () => Promise.resolve(undefined),
  set: noTenant,
}
const noVoids: ManagedVoids = {
  waiting: () => Promise.resolve([]),
  propose: noTenant,
  approve: noTenant,
  reject: noTenant,
}

const noTokens: ManagedTokens = {
  list: () => Promise.resolve([]),
  find: noToken,
  issue: noTenant,
  change: noToken,
  rotate: noToken,
  disable: noToken,
}

export const noPriceBooks: ManagedPriceBooks = {
  list: () => Promise.resolve([]),
  find: noBook,
  difference: noBook,
  skuPrices: () => Promise.resolve({ prices: [], atMs: 0 }),
  whatIf: noBook,
  publish: noBook,
}

const noSettings: ManagedSettings = { show: noTenant, set: noTenant }

const noLife = (): Promise<never> =>
  Promise.reject(new DomainError('life_not_found', 'no record with this id', {}))
const noLives: LifeActions = { note: noLife, poll: noLife, giveUp: noLife }

const noPeriods = (): AsyncIterable<never> => ({
  [Symbol.asyncIterator]: () => ({ next: noTenant }),
})
const noStatements: Statements = {
  close: noTenant,
  closeUntil: noPeriods,
  closeAll: () => Promise.resolve({ closing: 0, blocked: 0, done: Promise.resolve([]) }),
  preview: noTenant,
  openPeriod: noTenant,
  board: () => Promise.resolve([]),
  boardPage: () =>
    Promise.resolve({
      rows: [],
      shown: 0,
      counts: { blocked: 0, ready: 0, closed: 0, voidProposed: 0, blockers: [] },
    }),
  months: () => Promise.resolve([]),
  postings: noPeriods,
  boundsOf: noTenant,
  proofOfClose: noTenant,
  periodOfLine: noTenant,
  proofOfLine: noTenant,
}

/** Management of a gateway that has no accounts. */
export const noManagement: GatewayServices['accounts'] = {
  tenants: noTenants,
  proposals: noProposals,
  issuer: noIssuer,
  voids: noVoids,
  tokens: noTokens,
  settings: noSettings,
  priceBooks: noPriceBooks,
  balances: noAccounts.balances,
  statements: noStatements,
  lives: noLives,
  savedViews: { list: () => Promise.resolve([]), save: noTenant, remove: noTenant },
  viewTenant: noTenant,
}

export const nowMs = Date.parse('2026-03-04T05:06:07.000Z')

/** A caller with this part of its own. */
export function principal(part: Partial<Principal> & Pick<Principal, 'kind'>): Principal {
  return {
    tokenId: 'tok_1',
    tenantId: 'tenant_1',
    userId: 'user_1',
    models: undefined,
    addresses: undefined,
    limits: undefined,
    scope: undefined,
    role: undefined,
    ...part,
  }
}

/** What each secret stands for. */
export const principals: Readonly<Record<string, Principal>> = {
  'sk-one': principal({ kind: 'model' }),
  'sk-two': principal({ kind: 'model', tokenId: 'tok_2', tenantId: 'tenant_2', userId: 'user_9' }),
  'sk-bound': principal({ kind: 'model', addresses: ['203.0.113.0/24', '2001:db8::/32'] }),
  'qak-bound': principal({
    kind: 'query',
    scope: { level: 'all_users' },
    addresses: ['203.0.113.0/24'],
  }),
  'sk-limited': principal({
    kind: 'model',
    tokenId: 'tok_3',
    limits: { ...noLimits, requestsPerMinute: 60, tokensPerMinute: 9_000, concurrentTasks: 5 },
  }),
  'pat-one': principal({ kind: 'profile' }),
  'adm-one': principal({ kind: 'admin' }),
  'adm-finance': principal({ kind: 'admin', tokenId: 'tok_4', role: 'finance' }),
  'adm-support': principal({ kind: 'admin', tokenId: 'tok_5', role: 'support' }),
  'qak-user': principal({ kind: 'query', scope: { level: 'current_user' } }),
  'qak-some': principal({
    kind: 'query',
    scope: { level: 'specified_users', userIds: ['user_1', 'user_2'] },
  }),
  'qak-all': principal({ kind: 'query', scope: { level: 'all_users' } }),
  'qak-finance': principal({ kind: 'query', scope: { level: 'all_users' }, role: 'finance' }),
  'qak-support': principal({ kind: 'query', scope: { level: 'all_users' }, role: 'support' }),
  'qak-operator': principal({ kind: 'query', scope: { level: 'all_tenants' } }),
}

const refusedSecrets: Readonly<Record<string, 'expired' | 'disabled' | 'unavailable'>> = {
  'sk-expired': 'expired',
  'sk-disabled': 'disabled',
  'sk-away': 'unavailable',
  'qak-away': 'unavailable',
}

export const authenticate: Authenticate = async (secret) => {
  await Promise.resolve()
  const found = principals[secret]
  if (/^(?:sk|pat|qak|adm)-guess$/.test(secret))
    return { ok: false, reason: 'too_many_unknown', waitMs: 12_345 }
  if (found) return { ok: true, principal: found }
  const reason = refusedSecrets[secret] ?? 'unknown'
  if (reason === 'unknown' || reason === 'unavailable') return { ok: false, reason }
  const { tokenId, tenantId, userId } = principal({ kind: 'model', tokenId: `tok_${reason}` })
  return { ok: false, reason, token: { tokenId, tenantId, userId } }
}

/** Every tenant is open. */
export const openTenants: GatewayServices['tokens']['tenantAccess'] = {
  check: () => Promise.resolve(),
}

export interface Harness {
  readonly app: FastifyInstance
  readonly tasks: MemoryTasks
  readonly assets: MemoryAssets
  readonly ledger: MemoryLedger
  /** Every log line so far. */
  readonly logged: () => string
  /** Addresses the resolver knows; anything else cannot be resolved. */
  readonly hosts: Map<string, readonly string[]>
}

/** What families stand on where nothing is kept: the log holds no voice. */
export const familyDeps: FamilyDeps = {
  log: { readStream: () => Promise.resolve([]) } as unknown as FamilyDeps['log'],
  clock: { nowMs: () => nowMs },
  upstreamClock: { nowMs: () => nowMs },
  markerSecret: 'a secret of the tests',
  crashPoint: noCrash,
}

/** `memoryCalls` runs calls without their family. */
const noImageFamily = {} as ImageCallFamily

/** Groups of services of which a test may replace members; of the others it replaces the whole. */
type Groups = Pick<
  GatewayServices,
  'tokens' | 'throttle' | 'images' | 'files' | 'accounts' | 'hosts' | 'queries' | 'support'
>

/** The in-memory parts that a test replaces. */
export type Replaced = Partial<Omit<GatewayServices, keyof Groups> & ApiOptions> & {
  readonly [Group in keyof Groups]?: Partial<Groups[Group]>
}

/** The use cases of a gateway, hand-written and in memory. */
function memoryServices(
  part: Replaced,
  parts: Pick<Harness, 'tasks' | 'assets' | 'ledger' | 'hosts'>,
  calls: GatewayServices['calls'],
  channels: GatewayServices['models']['channels'],
): GatewayServices {
  const { tasks, assets, ledger, hosts } = parts
  const show = () => Promise.reject(new Error('no tokens are kept here'))
  const budgets = () => Promise.resolve([])
  const resolve = async (host: string) => {
    const found = hosts.get(host)
    if (!found) throw new Error('no such host')
    return Promise.resolve(found)
  }
  return {
    clock: { nowMs: () => nowMs },
    models: { catalog, channels, prices: () => Promise.resolve([]) },
    tasks,
    assets,
    calls,
    ...part,
    tokens: {
      authenticate,
      tenantAccess: openTenants,
      used: () => undefined,
      refused: () => undefined,
      show,
      budgets,
      ...part.tokens,
    },
    throttle: { ...noThrottle, ...part.throttle },
    images: { family: noImageFamily, tasks: noImageTasks, ...part.images },
    files: {
      kept: new MemoryFiles(nowMs),
      media: new MemoryMedia(nowMs),
      find: () => Promise.resolve(undefined),
      quota: noQuota,
      ...part.files,
    },
    accounts: { ...noManagement, ...part.accounts },
    support: {
      search: () => Promise.resolve({ items: [], more: false, hints: [] }),
      fingerprintOf: createFingerprintOf(familyDeps.markerSecret),
      ...part.support,
    },
    hosts: { resolve, upstream: new Set(), ...part.hosts },
    queries: {
      reads: ledger,
      accounts: noAccounts,
      knownNames: everyName,
      billing,
      statements: {
        ...noStatements,
        documents: {
          find: noTenant,
          issued: noTenant,
          voided: noTenant,
          preview: noTenant,
          users: () => Promise.resolve([]),
          paper: noTenant,
        },
      },
      ...part.queries,
    },
  }
}

/** In-memory parts, and the use cases over them. */
export function memoryGateway(
  part: Replaced = {},
  texts = new MemoryTexts(),
  speech = new MemorySpeech(),
  images = new MemoryImages(),
) {
  const parts = {
    tasks: new MemoryTasks(nowMs),
    assets: new MemoryAssets(nowMs),
    ledger: new MemoryLedger(),
    hosts: new Map<string, readonly string[]>([['hooks.example.com', ['93.184.216.34']]]),
  }
  const calls = memoryCalls(texts, speech, images)
  return { parts, services: memoryServices(part, parts, calls, texts.channels()) }
}

/** The whole HTTP interface over hand-written in-memory parts. */
export async function startApp(
  part: Replaced = {},
  ...given: readonly [texts?: MemoryTexts, speech?: MemorySpeech, images?: MemoryImages]
): Promise<Harness> {
  const lines: string[] = []
  const logger: Logger = pino(
    { level: 'debug', redact: logRedaction },
    { write: (line: string) => void lines.push(line) },
  )
  const { parts, services } = memoryGateway(part, ...given)
  const app = await buildApp(services, {
    logger,
    surfaces: openFamilies(families, familyDeps).surfaces,
    metrics: new Registry(),
    health: {
      dependencies: [],
      projections: async () => Promise.resolve([]),
      concerns: [],
      accepting: () => true,
    },
    version: '0.0.0',
    ...part,
  })
  await app.ready()
  return { app, ...parts, logged: () => lines.join('') }
}

export const tasksPath = '/provA/api/v3/contents/generations/tasks'
/** A known token of each scheme of the description. */
export const tokensByScheme: Readonly<Record<string, string>> = {
  profileToken: 'pat-one',
  adminToken: 'adm-one',
  queryToken: 'qak-all',
  modelToken: 'sk-one',
}
export const asModel = { authorization: 'Bearer sk-one' }

/** A body every rule accepts. */
export const goodBody = {
  model: 'overseas-video-2-0-mini',
  content: [{ type: 'text', text: 'a paper boat' }],
  duration: 5,
}
