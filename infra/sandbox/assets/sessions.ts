import { createHash, createHmac } from 'node:crypto'
import type { FamilyKit } from '../family.ts'
import { countOf, isOn, wordOf } from '../faults/vocabulary.ts'
import { Refusal } from '../http/wire.ts'
import { type Random, randomHex } from '../kit/clock.ts'
import { type SignedOrder, freshId, LibraryMembers, openingOf } from './parse.ts'
import {
  type GroupRecord,
  type SessionRecord,
  sessionStatus,
  stampOf,
  type Submission,
} from './store.ts'

/** Path of the page a person is sent to. */
export const PAGE_PATH = '/verify'
/** Before scaling. */
const TOKEN_LIFE_MS = 30 * 60_000
const MAX_URL_LENGTH = 2_048
const MAX_TOKEN_LENGTH = 500

/** Query values for a person's browser after a passed and after a failed check. */
const CALLBACK_FIELDS = {
  pass: { resultCode: '10000', algorithmBaseRespCode: '0', reqMeasureInfoValue: '1' },
  fail: { resultCode: '50000', algorithmBaseRespCode: '1', reqMeasureInfoValue: '0' },
} as const

/** What a person does on the page. */
type CheckResult = keyof typeof CALLBACK_FIELDS

/** Why a link opens no check. */
export type DeadLink = 'unknown' | 'used' | 'expired'

/** Verifications of real persons. */
export class Sessions {
  readonly #kit: FamilyKit

  constructor(kit: FamilyKit) {
    this.#kit = kit
  }

  /** Begins a verification. @throws Refusal */
  async create(order: SignedOrder): Promise<object> {
    const { faults } = order
    const body = new LibraryMembers(order.body)
    const { random, clock, options, assets } = this.#kit
    const callbackUrl = body.neededText('CallbackURL', MAX_URL_LENGTH)
    if (!URL.canParse(callbackUrl) || new URL(callbackUrl).protocol !== 'https:')
      throw body.invalid('CallbackURL', 'it must be an https address')
    const nowMs = clock.nowMs()
    const ticket = newTicket(random, nowMs)
    const token = tokenOf(ticket)
    const lifeMs = Math.round(TOKEN_LIFE_MS * options.timeScale)
    await assets.add({
      ...openingOf(this.#kit, order, body.project, () => sessionIdOf(token)),
      kind: 'session',
      callbackUrl,
      resultMs: isOn(faults, 'stall') ? null : (countOf(faults, 'running-ms') ?? 0),
      failCode: wordOf(faults, 'fail'),
      expiresAtMs: isOn(faults, 'expire') ? nowMs : nowMs + lifeMs,
      submission: null,
    })
    const link = `${this.#kit.baseUrl()}${PAGE_PATH}?token=${ticket}&lng=en`
    return { BytedToken: token, H5Link: link, CallbackURL: callbackUrl }
  }

  /** Result of one: no group while the result is not known. @throws Refusal */
  result(order: SignedOrder): object {
    const body = new LibraryMembers(order.body)
    const token = body.neededText('BytedToken', MAX_TOKEN_LENGTH)
    const session = this.#kit.assets.session(sessionIdOf(token))
    const isOwn = session?.region === order.region && session.projectName === body.project
    const status = isOwn ? sessionStatus(session, this.#kit.clock.nowMs()) : 'failed'
    switch (status) {
      case 'pending':
        return { GroupId: '' }
      case 'passed':
        return { GroupId: session?.submission?.groupId ?? '' }
      case 'failed':
      case 'expired':
        throw new Refusal(
          'ResourceNotFound.VisualValidateSession',
          `The verification ${token} does not exist or is over.`,
        )
    }
  }

  /** The verification of a link, or why the link is invalid. */
  open(ticket: string): SessionRecord | DeadLink {
    const session = this.#kit.assets.session(sessionIdOf(tokenOf(ticket)))
    if (session === null) return 'unknown'
    if (session.submission !== null) return 'used'
    return this.#kit.clock.nowMs() >= session.expiresAtMs ? 'expired' : session
  }

  /**
   * Ends the check, once; returns where the person's browser goes next, or why the link is invalid.
   */
  async submit(ticket: string, outcome: CheckResult): Promise<URL | DeadLink> {
    const session = this.open(ticket)
    if (typeof session === 'string') return session
    const submission = this.#submissionOf(session, outcome)
    const group = this.#groupOf(session, submission)
    const done = { ...session, submission }
    await this.#kit.assets.replace(group === null ? [done] : [done, group])
    const query = new URLSearchParams({
      bytedToken: tokenOf(ticket),
      ...CALLBACK_FIELDS[outcome],
      verify_type: 'real_time',
    })
    return this.#target(session.callbackUrl, query)
  }

  #submissionOf({ resultMs, failCode }: SessionRecord, outcome: CheckResult): Submission {
    const atMs = this.#kit.clock.nowMs()
    const passed = outcome === 'pass'
    const readyAtMs = resultMs === null ? null : atMs + resultMs
    const hasGroup = passed && failCode === null && readyAtMs !== null
    return { atMs, passed, readyAtMs, groupId: hasGroup ? freshId(this.#kit, 'group') : null }
  }

  /** Each person has a group of their own. */
  #groupOf(session: SessionRecord, { groupId, readyAtMs }: Submission): GroupRecord | null {
    if (groupId === null || readyAtMs === null) return null
    const { region, projectName, clientMarker, clientRequestId, credential } = session
    return {
      kind: 'group',
      seq: this.#kit.assets.newSeq(),
      id: groupId,
      region,
      projectName,
      clientMarker,
      clientRequestId,
      credential,
      groupType: 'LivenessFace',
      name: '',
      description: '',
      acceptedAtMs: readyAtMs,
      updatedAtMs: readyAtMs,
      deletedAtMs: null,
    }
  }

  /** As with callbacks, an option can send the browser to another origin. */
  #target(callbackUrl: string, query: URLSearchParams): URL {
    const url = new URL(callbackUrl)
    url.search = url.search === '' ? query.toString() : `${url.search}&${query.toString()}`
    const mapped = this.#kit.options.callbackMap.get(url.hostname.toLowerCase())
    return mapped === undefined ? url : new URL(`${mapped}${url.pathname}${url.search}${url.hash}`)
  }
}

/**
 * The credentials of a verification: a ticket opens its page, a token asks for its result. The token
 * follows from the ticket, and the session's id from the token, so that neither has to be kept.
 */

/** A fixed key: no real person is verified here, and links must survive a restart. */
const TOKEN_KEY = 'sandbox-verification'

/** What a link to the page holds. */
function newTicket(random: Random, nowMs: number): string {
  return `${stampOf(nowMs)}${randomHex(random, 32)}`
}

/** What the result is asked for with. */
function tokenOf(ticket: string): string {
  const secret = createHmac('sha256', TOKEN_KEY).update(ticket).digest('hex')
  return `${ticket.slice(0, 14)}${secret.slice(0, 32).toUpperCase()}`
}

/** What the session is kept under. */
function sessionIdOf(token: string): string {
  return `session-${createHash('sha256').update(token).digest('hex').slice(0, 24)}`
}
