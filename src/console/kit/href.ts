import { readZone } from '../../kernel/read-zone.ts'

/** Addresses of the console: each is written by one function, since markup would let `javascript:` through. */

/** Members of an address by their names. */
export type Query = Readonly<Record<string, string | number | undefined>>

/** Paths of pages below the console; `:id` stands for an id. */
export const paths = {
  overview: '/',
  find: '/find',
  life: '/life/:id',
  failed: '/failed',
  refused: '/failed/refused',
  refusedRequest: '/failed/request/:id',
  speed: '/speed',
  repeats: '/charged-twice',
  lines: '/ledger/lines',
  line: '/ledger/lines/:id',
  proof: '/ledger/lines/:id/proof',
  summary: '/ledger/summary',
  movements: '/ledger/movements',
  credits: '/ledger/credits',
  holds: '/ledger/held',
  prices: '/prices',
  book: '/prices/:id',
  periods: '/periods',
  period: '/periods/:id',
  proposals: '/proposals',
  proposal: '/proposals/:id',
  changes: '/changes',
  tenants: '/tenants',
  tenant: '/tenants/:id',
  activity: '/tenants/:id/activity',
  billing: '/tenants/:id/billing',
  token: '/tokens/:id',
  operations: '/operations',
  channel: '/operations/channels/:id',
  viewReason: '/view-reason',
  signIn: '/sign-in',
  enter: '/enter',
  signOut: '/sign-out',
  signInByName: '/oidc/begin',
  signedInByName: '/oidc/callback',
  chooseAccess: '/oidc/access',
  sessions: '/sessions',
  savedViews: '/views',
  removeView: '/views/remove',
} as const

/** An address with a query; members that are undefined or empty are left out. */
export function addressOf(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  )
  const text = new URLSearchParams(given).toString()
  return text === '' ? path : `${path}?${text}`
}

/** A path of the console with its query: for the functions below, and for paths of requests. */
export function hrefOf(path: string, query: Query = {}): string {
  return addressOf(path === '/' ? '/console' : `/console${path}`, query)
}

/** The path of the file of a page. */
export const filePath = (path: string): string => `${path}/file`

/** The file of the page at an address, with its query. */
export function fileHref(page: string, query: Query): string {
  return addressOf(filePath(page), query)
}

/** Writes addresses of the page at a path. */
const pageAt =
  (path: string) =>
  (query: Query = {}): string =>
    hrefOf(path, query)

/** Writes addresses of a page for each id. */
const pageOfId =
  (path: string) =>
  (id: string, query: Query = {}): string =>
    hrefOf(
      path.replace(':id', () => encodeURIComponent(id)),
      query,
    )

export const overviewHref = pageAt(paths.overview)
export const findHref = pageAt(paths.find)
export const lifeHref = pageOfId(paths.life)
export const failedHref = pageAt(paths.failed)
/** The counts of refused requests, which are a part of the page of failures. */
export const refusedHref = pageAt(paths.refused)
/** One refused request. */
export const refusedRequestHref = pageOfId(paths.refusedRequest)
export const speedHref = pageAt(paths.speed)
/** Requests that were charged twice. */
export const repeatsHref = pageAt(paths.repeats)
export const linesHref = pageAt(paths.lines)
export const lineHref = pageOfId(paths.line)
export const proofHref = pageOfId(paths.proof)
export const summaryHref = pageAt(paths.summary)
export const movementsHref = pageAt(paths.movements)
export const creditsHref = pageAt(paths.credits)
export const holdsHref = pageAt(paths.holds)
export const pricesHref = pageAt(paths.prices)
export const bookHref = pageOfId(paths.book)
export const periodsHref = pageAt(paths.periods)
export const proposalsHref = pageAt(paths.proposals)
export const changesHref = pageAt(paths.changes)
export const tenantsHref = pageAt(paths.tenants)
export const tenantHref = pageOfId(paths.tenant)
export const activityHref = pageOfId(paths.activity)
export const billingHref = pageOfId(paths.billing)
export const tokenHref = pageOfId(paths.token)
export const operationsHref = pageAt(paths.operations)
export const channelHref = pageOfId(paths.channel)
export const viewReasonHref = pageAt(paths.viewReason)
export const signInHref = pageAt(paths.signIn)
export const enterHref = pageAt(paths.enter)
export const signOutHref = pageAt(paths.signOut)
export const signInByNameHref = pageAt(paths.signInByName)
export const signedInByNameHref = pageAt(paths.signedInByName)
export const chooseAccessHref = pageAt(paths.chooseAccess)
export const sessionsHref = pageAt(paths.sessions)
export const savedViewsHref = pageAt(paths.savedViews)
export const removeViewHref = pageAt(paths.removeView)

interface ProposalName {
  readonly tenantId: string
  readonly proposalId: string
}

/** Separates a tenant from what is its own in an address: no id contains it. */
const BETWEEN = '~'

/** The page of a proposal, whose id is one of its tenant. */
export function proposalHref({ tenantId, proposalId }: ProposalName): string {
  return pageOfId(paths.proposal)(`${tenantId}${BETWEEN}${proposalId}`)
}

/** Reads the tenant and the proposal that an address names. */
export function proposalIn(id: string): ProposalName {
  const [tenantId = '', proposalId = ''] = id.split(BETWEEN, 2)
  return { tenantId, proposalId }
}

/** A month of an account, as an address names it. */
export interface PeriodName {
  readonly tenantId: string
  readonly currency: string
  readonly month: string
}

const periodId = ({ tenantId, currency, month }: PeriodName): string =>
  [tenantId, currency, month].join(BETWEEN)

/** The page of a month of an account. */
export function periodHref(of: PeriodName, query: Query = {}): string {
  return pageOfId(paths.period)(periodId(of), query)
}

/** A file of a month of an account, below its page. */
export function periodFileHref(of: PeriodName, file: string, query: Query = {}): string {
  return addressOf(`${periodHref(of)}/files/${file}`, query)
}

/** Reads the account and the month that an address names. */
export function periodIn(id: string): PeriodName {
  const [tenantId = '', currency = '', month = ''] = id.split(BETWEEN)
  return { tenantId, currency, month }
}

/** The zone that an address names; undefined for none, or one that does not exist. */
export function zoneIn(url: string): string | undefined {
  const name = new URLSearchParams(url.split('?', 2)[1] ?? '').get('tz')
  return name === null || name === '' || 'fault' in readZone(name) ? undefined : name
}

/** Pages without times, and files. */
const ZONELESS =
  /^\/console\/(?:static|view-reason|sign-in|sign-out|enter)|\/files\/|\/(?:file|proof)$/

/** The address with the zone of the page that it is on, unless it has one. */
export function inZone(href: string, tz: string | undefined): string {
  const [address = '', ...part] = href.split('#')
  const [path = '', query = ''] = address.split('?', 2)
  if (tz === undefined || ZONELESS.test(path) || /(?:^|&)tz=/.test(query)) return href
  const zoned = `${path}?${query === '' ? '' : `${query}&`}tz=${encodeURIComponent(tz)}`
  return [zoned, ...part].join('#')
}

/** A page as markup whose links and forms all keep its zone. */
export function keepingZone(html: string, tz: string | undefined): string {
  if (tz === undefined) return html
  // Texts and attributes have no quotation marks as such.
  return html.replaceAll(/(?<= (?:href|action)=")\/console(?:[/?#][^"]*)?(?=")/g, (href) =>
    inZone(href.replaceAll('&amp;', '&'), tz).replaceAll('&', '&amp;'),
  )
}

/** A route of the query API, which answers the figures of a page. */
export function apiPath(path: string, query: Query = {}): string {
  return addressOf(`/api/query/v1${path}`, query)
}

/** A route of the administration, which answers to admin tokens. */
export function adminPath(path: string, query: Query = {}): string {
  return addressOf(`/api/admin${path}`, query)
}

/**
 * The place to go on to after signing in: a path of the console in characters that a header can hold,
 * else its first page.
 */
export function nextPlace(asked: string | undefined): string {
  const isOwn = asked !== undefined && /^\/console(?:[/?][!-[\]-~]*)?$/.test(asked)
  return isOwn ? asked : overviewHref()
}

/** Whether an address without its query is that of a page, by the page's path below the console. */
export function isAddressOf(page: string, address: string): boolean {
  const [wanted, given] = [hrefOf(page === '/' ? '' : page).split('/'), address.split('/')]
  const fits = (part: string, index: number): boolean =>
    part.startsWith(':') ? given[index] !== '' : part === given[index]
  return wanted.length === given.length && wanted.every(fits)
}
