/** What a pasted text may name, by the forms of ids. It is pure: nothing is looked up here. */

/** A lookup of a word: by which index it is searched. */
export type Lookup =
  | { readonly by: 'source' | 'call' | 'request' | 'nativeId' | 'credit'; readonly prefix: string }
  | { readonly by: 'line' | 'response' | 'upstream'; readonly id: string }
  | {
      readonly by: 'key' | 'last_four' | 'owner' | 'token_name' | 'reference' | 'note'
      readonly text: string
    }

export interface Word {
  /** As it is in the text. */
  readonly text: string
  readonly lookups: readonly Lookup[]
  /** Lookups by names, which read whole tables: only where the others find nothing. */
  readonly otherwise: readonly Lookup[]
  /** The beginning of its ULID, where it has one. */
  readonly ulid: string | undefined
}

/** The most words of one text that are looked up. */
export const MAX_WORDS = 20
export const MAX_TEXT_CHARACTERS = 4_000
/** The shortest beginning of an id, after its kind. */
export const MIN_PREFIX = 6
/** The longest `Idempotency-Key`. */
const MAX_KEY = 255
const MAX_NAME = 100

/** A secret of a token or of a session of the console, or most of one, perhaps within other text. */
const SECRET = /(?<![A-Za-z0-9])(?:sk|pat|qak|adm|tcs)-([\w-]{20,})/g
/** Characters of a whole secret after its prefix. */
const WHOLE_SECRET = 43

/** Part of a secret is random, with letters of both cases and digits; names of users and tokens are not. */
const looksRandom = (text: string): boolean =>
  [/[a-z]/, /[A-Z]/, /\d/].every((sign) => sign.test(text))

/**
 * Whether a text holds the secret of a token, or a part of one that was cut off: it must not be looked up, or
 * kept anywhere.
 */
export const holdsSecret = (text: string): boolean =>
  [...text.matchAll(SECRET)].some(
    ([, random = '']) => random.length >= WHOLE_SECRET || looksRandom(random),
  )

/** Whether an address holds a secret, also within what was escaped in it. */
export const addressHoldsSecret = (url: string): boolean =>
  holdsSecret(url.replaceAll(/%2d/gi, '-').replaceAll(/%[\da-f]{2}/gi, ' '))

/** How ids begin, by the word before their ULID, and where they are looked up. */
const kinds: Readonly<Record<string, readonly [by: 'source' | 'call' | 'request', stem: string]>> =
  {
    call: ['call', 'call_'],
    // The ids of answers have the ULID of the call.
    chatcmpl: ['call', 'call_'],
    msg: ['call', 'call_'],
    video: ['source', 'video_'],
    image: ['source', 'image_'],
    speech: ['source', 'speech_'],
    token: ['source', 'token_'],
    file: ['source', 'file-'],
    asset: ['source', 'asset-'],
    group: ['source', 'group-'],
    req: ['request', 'req_'],
  }
const idForm = /^([a-z]{3,8})[_-]([0-7][0-9A-HJKMNP-TV-Z]{5,25})$/i
/** A ULID alone is the name of a native answer; a shorter one could be any word. */
const ulidForm = /^[0-7][0-9A-HJKMNP-TV-Z]{15,25}$/
const lineForm = /^[A-Za-z0-9][\w.-]{0,127}:[1-9]\d{0,3}$/
const responseForm = /^resp_[\w-]{30,}$/
/** The id of a provider, a key: letters and digits. */
const otherId = /^(?=.*\d)(?=.*[A-Za-z]).{8,}$/
/** The last of a secret, which may begin and end with a hyphen. */
const lastFourForm = /^[\w-]{4}$/
const numberForm = /^\d{15,20}$/
const timeForm = /^\d{4}-\d\d-\d\dT/

/** The lookups for a word of no known form, a beginning of at least six characters. */
function otherLookups(text: string): readonly Lookup[] {
  return [
    ...(text.length < MIN_PREFIX
      ? []
      : (['source', 'nativeId', 'credit'] as const).map((by) => ({ by, prefix: text }))),
    ...(lastFourForm.test(text) ? [{ by: 'last_four', text } as const] : []),
    ...(text.length <= MAX_KEY ? [{ by: 'key', text } as const] : []),
  ]
}

function lookupsOf(text: string): Pick<Word, 'lookups' | 'ulid'> {
  const [, kind = '', given = ''] = idForm.exec(text) ?? []
  const known = kinds[kind.toLowerCase()]
  const ulid = given.toUpperCase()
  const key = { by: 'key', text } as const
  if (known !== undefined) {
    const [by, stem] = known
    return { ulid, lookups: [{ by, prefix: `${stem}${ulid}` }, key] }
  }
  if (lineForm.test(text))
    return { ulid: undefined, lookups: [{ by: 'line', id: text }, ...otherLookups(text)] }
  if (responseForm.test(text))
    return { ulid: undefined, lookups: [{ by: 'response', id: text }, key] }
  if (ulidForm.test(text))
    return { ulid: text, lookups: [{ by: 'call', prefix: `call_${text}` }, ...otherLookups(text)] }
  return { ulid: undefined, lookups: otherLookups(text) }
}

/** The parts of a text that can be ids: printable ASCII without quotes, commas, slashes and the like. */
function partsOf(text: string): readonly string[] {
  const parts = text.match(/[\w.:-]+/g) ?? []
  return parts.flatMap((part) => {
    const trimmed = part.replace(/^[.:-]+/, '').replace(/(?<![.:-])[.:-]+$/, '')
    // "id:call_…" of a log is a name and a value; the id of a line has a number behind its colon.
    return lineForm.test(trimmed) || timeForm.test(trimmed) ? [trimmed] : trimmed.split(':')
  })
}

/** Within other text an id has all of its time: shorter beginnings of many ids would read too much. */
const MIN_ULID_IN_TEXT = 10

const isId = (part: string, minUlid: number): boolean =>
  isOfKind(part, minUlid) || lineForm.test(part) || responseForm.test(part) || ulidForm.test(part)

function isOfKind(part: string, minUlid: number): boolean {
  const [, kind = '', ulid = ''] = idForm.exec(part) ?? []
  return kinds[kind.toLowerCase()] !== undefined && ulid.length >= minUlid
}

const isPossibleId = (part: string): boolean =>
  (otherId.test(part) && !timeForm.test(part)) || numberForm.test(part)

/** Whether a word can be the id that a provider gave to a request. */
export const isUpstreamId = (word: string): boolean => isPossibleId(word) && !isId(word, MIN_PREFIX)

/** The lookups for a whole text by names; a short word, or one without digits, is a name first. */
function nameLookups(text: string): Pick<Word, 'lookups' | 'otherwise'> {
  if (text.length < 2 || text.length > MAX_NAME || isId(text, MIN_PREFIX) || /[\n\r]/.test(text))
    return { lookups: [], otherwise: [] }
  const owner = { by: 'owner', text } as const
  const others = (['token_name', 'reference', 'note'] as const).map((by) => ({ by, text }))
  return isPossibleId(text)
    ? { lookups: [], otherwise: [owner, ...others] }
    : { lookups: [owner], otherwise: others }
}

/**
 * The words of a text that are worth looking up, at most 20; `left` is how many further ones the text
 * has. A single word is looked up whatever its form, and a short text by name too.
 */
export function wordsIn(text: string): { readonly words: readonly Word[]; readonly left: number } {
  const whole = text.trim()
  const names = nameLookups(whole)
  const parts = [...new Set(partsOf(whole))]
  if (lastFourForm.test(whole) || (parts.length === 1 && parts[0] === whole)) {
    const { lookups, ulid } = lookupsOf(whole)
    const word = {
      text: whole,
      ulid,
      lookups: [...lookups, ...names.lookups],
      otherwise: [
        ...(isUpstreamId(whole) ? [{ by: 'upstream', id: whole } as const] : []),
        ...names.otherwise,
      ],
    }
    return { words: [word], left: 0 }
  }
  const ids = parts.filter((part) => isId(part, MIN_ULID_IN_TEXT))
  const others = parts.filter((part) => !isId(part, MIN_PREFIX) && isPossibleId(part))
  const found = [...ids, ...others]
  const words = found.slice(0, MAX_WORDS).map((part) => {
    return { text: part, otherwise: [], ...lookupsOf(part) }
  })
  // A key may have spaces.
  const key = /^[\x20-\x7e]{1,255}$/.test(whole) ? [{ by: 'key', text: whole } as const] : []
  const all = { text: whole, ulid: undefined, ...names, lookups: [...key, ...names.lookups] }
  const isMore = all.lookups.length + all.otherwise.length > 0
  return { words: isMore ? [all, ...words] : words, left: found.length - words.length }
}
