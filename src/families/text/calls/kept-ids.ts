import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto'
import { ulidOfCall } from '../../../kernel/ids.ts'
import { keyedHash } from '../../../kernel/keyed-hash.ts'
import type { KeptKind, TextRequest } from '../ports.ts'

/** Something that upstream keeps in the account of a channel, under upstream's id. */
export interface UpstreamObject {
  readonly channelId: string
  readonly upstreamId: string
  /**
   * Number of its tokens as input: for a response the conversation up to its end, for an item an
   * upper bound. Absent in ids of older releases.
   */
  readonly tokens?: number
  /** Equal in all items of one answer, which together have at most `tokens`. */
  readonly answer?: string
  /** The call that made a response; absent in ids of older releases. */
  readonly callId?: string
}

/** Facts about the answer of a call before it arrives. */
export interface AnswerBounds {
  /** The conversation up to its end, in tokens. */
  readonly conversationTokens: number
  /** Tokens of the answer. */
  readonly outputTokens: number
  /** The response that it continues: upstream's id and the caller's. */
  readonly previous: { readonly upstreamId: string; readonly id: string } | undefined
}

/**
 * Ids of objects that upstream keeps for a tenant. All tenants share the account that keeps them,
 * so tenants do not get upstream's id but a sealed one: it is bound to the tenant, reveals nothing,
 * and is useless to another tenant (P8). It has all needed data, so any replica can read it at any
 * later time.
 */
export interface KeptIds {
  readonly seal: (tenantId: string, kind: KeptKind, kept: UpstreamObject) => string
  /**
   * Seals the ids of one call of a tenant at a channel, each once because frames repeat them. The
   * id of a response whose usage is not known yet has the upper bound of its conversation.
   */
  readonly namer: (
    tenantId: string,
    channelId: string,
    /** The call is undefined where an id of an older release does not say it. */
    answered: AnswerBounds & { readonly callId: string | undefined },
  ) => TextRequest['keptId']
  /** Undefined for anything but an id sealed for this tenant and kind. */
  readonly open: (tenantId: string, kind: KeptKind, id: string) => UpstreamObject | undefined
}

/**
 * Four times the length of upstream's ids. A longer one is cut: callers see it, but cannot use it
 * again.
 */
const MAX_UPSTREAM_ID_LENGTH = 256
/**
 * The longest id of the gateway: prefix, tag, figures, channel id and upstream id, each at its
 * longest.
 */
const MAX_KEPT_ID_LENGTH = 1_500
const TAG_BYTES = 16
/** The text before the first underscore. */
const PREFIX = /^([a-z]{1,16})_/
const CIPHER = 'aes-256-ctr'
/**
 * Format of the figures before the channel's id, which never begins like them: tokens, the answer of
 * an item, the ULID of the call that made a response.
 */
const FIGURES = /^~(\d{1,16})~([0-9a-z]{0,16})~(?:([0-7][0-9A-HJKMNP-TV-Z]{25})~)?/
const ANSWER_BYTES = 4

/**
 * Sealed with a synthetic initialisation vector: the tag over tenant, kind and content also serves
 * as the nonce of the encryption. The same object has the same id each time, without a nonce that
 * could repeat.
 */
export function createKeptIds(secret: string): KeptIds {
  const tagKey = keyedHash(secret, 'kept-id/tag', [])
  const cipherKey = keyedHash(secret, 'kept-id/cipher', [])
  const tagOf = (tenantId: string, kind: KeptKind, content: Buffer): Buffer =>
    createHmac('sha256', tagKey)
      .update(JSON.stringify([kind, tenantId]))
      .update(content)
      .digest()
      .subarray(0, TAG_BYTES)
  const seal: KeptIds['seal'] = (tenantId, kind, kept) => {
    const { channelId, upstreamId, tokens, answer = '', callId = '' } = kept
    const ulid = ulidOfCall(callId)
    const ofCall = ulid === undefined ? '' : `${ulid}~`
    const figures = tokens === undefined ? '' : `~${tokens}~${answer}~${ofCall}`
    const content = Buffer.from(
      `${figures}${channelId}\n${upstreamId.slice(0, MAX_UPSTREAM_ID_LENGTH)}`,
    )
    const tag = tagOf(tenantId, kind, content)
    const sealed = createCipheriv(CIPHER, cipherKey, tag).update(content)
    return `${prefixOf(kind, upstreamId)}_${Buffer.concat([tag, sealed]).toString('base64url')}`
  }
  return {
    seal,
    namer: (tenantId, channelId, answered) => {
      const { conversationTokens, outputTokens, previous, callId } = answered
      const known = new Map<string, string>()
      if (previous !== undefined) known.set(`response ${previous.upstreamId}`, previous.id)
      /** The first item identifies the answer. */
      let answer: string | undefined
      return (kind, upstreamId, tokens) => {
        const key = `${kind} ${upstreamId}`
        if (kind === 'item')
          answer ??= tagOf(tenantId, kind, Buffer.from(upstreamId)).toString('hex', 0, ANSWER_BYTES)
        const id =
          known.get(key) ??
          seal(tenantId, kind, {
            channelId,
            upstreamId,
            ...(answer !== undefined && kind === 'item'
              ? { tokens: outputTokens, answer }
              : { tokens: tokens ?? conversationTokens, ...(callId !== undefined && { callId }) }),
          })
        known.set(key, id)
        return id
      }
    },
    open: (tenantId, kind, id) => {
      if (id.length > MAX_KEPT_ID_LENGTH) return undefined
      const prefix = PREFIX.exec(id)?.[1]
      if (prefix === undefined) return undefined
      const text = id.slice(prefix.length + 1)
      const bytes = Buffer.from(text, 'base64url')
      // Decoding is lenient; an id must have only one spelling.
      if (bytes.length <= TAG_BYTES || bytes.toString('base64url') !== text) return undefined
      const tag = bytes.subarray(0, TAG_BYTES)
      const content = createDecipheriv(CIPHER, cipherKey, tag).update(bytes.subarray(TAG_BYTES))
      if (!timingSafeEqual(tag, tagOf(tenantId, kind, content))) return undefined
      const kept = keptIn(content.toString())
      return prefix === prefixOf(kind, kept.upstreamId) ? kept : undefined
    },
  }
}

/** The content of a decrypted id. */
function keptIn(written: string): UpstreamObject {
  const [figures = '', tokens, answer, ulid] = FIGURES.exec(written) ?? []
  const [channelId = '', ...lines] = written.slice(figures.length).split('\n')
  return {
    channelId,
    upstreamId: lines.join('\n'),
    ...(tokens === undefined ? {} : { tokens: Number(tokens) }),
    ...(answer === undefined || answer === '' ? {} : { answer }),
    ...(ulid === undefined ? {} : { callId: `call_${ulid}` }),
  }
}

/** For an item, upstream's prefix: clients recognise the kind of item by it. */
function prefixOf(kind: KeptKind, upstreamId: string): string {
  return kind === 'response' ? 'resp' : (PREFIX.exec(upstreamId)?.[1] ?? 'item')
}
