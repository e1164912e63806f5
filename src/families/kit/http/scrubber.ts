/** Removes from upstream's messages the parts that callers must not see (P7). */

const MAX_MESSAGE_LENGTH = 500
/**
 * Maximum length of a message that is searched: a provider may repeat the caller's input, so the
 * caller decides its length. It is far more than is shown, since a link becomes one word.
 */
const MAX_SEARCHED_LENGTH = 4_096
// Each quantifier below that does not end its pattern is bounded or begins where its characters
// begin: otherwise the search would start again at each character of a long run.
/** An id that is written after its name and a colon, and one that is a part of the sentence. */
const LABELLED_ID = /["'`]?\b(?:request|trace|log)[ _-]?id\b["'`]? ?[:=] ?["'`]?[\w-]*["'`]?/gi
const NAMED_ID = /\b((?:request|trace|log)[ _-]?id(?: is)?) ["'`]?(?=[\w-]*\d)[\w-]+["'`]?/gi
const LINK = /\b(?!asset:)[a-z][a-z0-9+.-]{0,31}:\/\/[^\s"'<>`]+/gi
const HOST = /\b(?:[a-z0-9-]{1,63}\.){2,10}[a-z]{2,}(?::\d+)?(?:\/[^\s"'<>`]*)?/gi
/** The end of a dotted word that is a host: a port, a path, or the last label of a name. */
const HOST_END =
  '(?::\\d|/|(?<=\\.(?:com|net|org|info|dev|app|cloud|site|local|internal|intranet|lan|corp|(?!id)[a-z]{2})))'
const ADDRESS = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g
const LONG_OPAQUE = /(?<![\w-])(?=[\w-]*\d)[\w-]{32,}\b/g
/** The end of a link that belongs to the sentence around it. */
const PUNCTUATION = /[.,;:!?)\]}]{1,8}$/
const NAME = /[\w-]+/g
const DETERMINERS = 'the|an?|this|that|your|our|my|its|their|any|no|every|each'

/**
 * The start of a message, in single blanks. A word that the cut divides is left out: half a name or
 * half a key would not be recognised.
 */
function startOf(message: string): string {
  const start = message.slice(0, MAX_SEARCHED_LENGTH)
  const end = start.length === message.length ? start.length : start.search(/\s\S*$/)
  return start.slice(0, Math.max(0, end)).replace(/\s+/g, ' ')
}

/** Labels of a host name that name no vendor. */
const PLAIN_WORDS = new Set(
  (
    'www api apis open com net org cloud test example localhost local internal invalid host ' +
    'video image text speech voice clone audio fast mini pro lite max plus standard domestic overseas ' +
    'model models data task tasks asset assets library generation upstream sandbox'
  ).split(' '),
)
const SHORTEST_VENDOR_WORD = 3

/**
 * The words that identify an upstream: labels of its host names, the alphabetic parts of its model
 * names, and the words that the channel lists. They are derived, so that no vendor is named in the
 * code.
 */
export function vendorWords(
  baseUrls: readonly string[],
  upstreamModels: readonly string[],
  listed: readonly string[] = [],
): readonly string[] {
  const hostnames = baseUrls.map((baseUrl) => new URL(baseUrl).hostname)
  const parts = [...hostnames, ...upstreamModels].flatMap((name) =>
    name.toLowerCase().split(/[^a-z]+/),
  )
  const derived = parts.filter(
    (word) => word.length >= SHORTEST_VENDOR_WORD && !PLAIN_WORDS.has(word),
  )
  return [...new Set([...derived, ...listed.map((word) => word.toLowerCase())])]
}

/** Finds hosts, and first the places of members, as a provider writes them: `messages.1.content.0`. */
function hostPattern(members: readonly string[]): RegExp {
  if (members.length === 0) return HOST
  const names = members.join('|')
  // The whole word, so that no part of a place is taken for a host.
  const step = '(?:\\.\\w{1,64}|\\[\\d{1,6}\\])'
  const place = `(?<![\\w.-])(?:${names})${step}{1,32}(?![\\w-]|\\.\\w)(?!${HOST_END})`
  return new RegExp(`(${place})|${HOST.source}`, 'gi')
}

/** The steps of scrubbing a message: exact replacements first, then words to drop. */
export interface Scrubber {
  (message: string): string
}

/**
 * A scrubber of one channel. Upstream model names become external names; request ids, links, host
 * names, addresses, long opaque strings and vendor words are removed, and the rest reads as a
 * sentence. An empty result becomes `fallback`.
 */
export function createScrubber(input: {
  /** Upstream name → external name. */
  readonly modelNames: Readonly<Record<string, string>>
  readonly words: readonly string[]
  readonly fallback: string
  /** The outermost members of requests: the place of one within them is shown. */
  readonly members?: readonly string[] | undefined
}): Scrubber {
  const names = Object.entries(input.modelNames).toSorted(([a], [b]) => b.length - a.length)
  const words = input.words
    .toSorted((a, b) => b.length - a.length)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const hosts = hostPattern(input.members ?? [])
  const vendor = words.length === 0 ? undefined : vendorPattern(words)
  return (message) => {
    let text = startOf(message)
    for (const [upstream, external] of names) text = text.replaceAll(upstream, external)
    text = withoutIds(text.replace(LINK, (link) => withPunctuation('[link]', link)))
    text = text
      .replace(hosts, (found, place: unknown) =>
        typeof place === 'string' ? found : withPunctuation('[host]', found),
      )
      .replace(ADDRESS, '[host]')
    text = text.replace(LONG_OPAQUE, '[id]')
    if (vendor !== undefined) text = withoutVendor(text, vendor)
    text = text.replace(/\s+/g, ' ').trim()
    return text === '' ? input.fallback : shortened(text)
  }
}

function withPunctuation(replacement: string, link: string): string {
  return `${replacement}${PUNCTUATION.exec(link)?.[0] ?? ''}`
}

/** Placeholder of an id until it is known which text around it is removed with it. */
const TAKEN = '\u0000'

/** Takes ids out with their brackets or their sentence; within a sentence they leave a placeholder. */
function withoutIds(text: string): string {
  return text
    .replaceAll(TAKEN, '')
    .replace(NAMED_ID, '$1 [id]')
    .replace(LABELLED_ID, TAKEN)
    .replace(/ ?[([]\0[)\]]/g, '')
    .replace(/(?<=[.!?]) \0[.!?](?= |$)/g, '')
    .replace(/^\0[ ,;.:)-]{0,8}/, '')
    .replace(/[ ,;:([-]{0,8}\0[ ).\]]{0,8}$/, '')
    .replaceAll(TAKEN, 'request id [id]')
}

/** Finds a vendor, with the words that may come before it and its further names. */
function vendorPattern(words: readonly string[]): RegExp {
  const word = `(?:${words.join('|')})(?![a-z])`
  return new RegExp(`(?:\\b(${DETERMINERS}) )?(?<![a-z])${word}(?: ${word})*`, 'gi')
}

/** Names that contain a vendor's word become a placeholder; the word alone becomes a noun. */
function withoutVendor(text: string, vendor: RegExp): string {
  const hasMore = (name: string): boolean =>
    /[-_\d]/.test(name) && name.search(vendor) >= 0 && name.replace(vendor, '') !== ''
  return text
    .replace(NAME, (name) => (hasMore(name) ? '[name]' : name))
    .replace(vendor, (_match, determiner: string | undefined, at: number, whole: string) => {
      const before = determiner?.toLowerCase().replace('an', 'a') ?? 'the'
      const isFirst = at === 0 || /[.!?] $/.test(whole.slice(Math.max(0, at - 2), at))
      return `${isFirst ? `${before.charAt(0).toUpperCase()}${before.slice(1)}` : before} provider`
    })
}

/** A long text ends after a whole word. */
function shortened(text: string): string {
  if (text.length <= MAX_MESSAGE_LENGTH) return text
  const start = text.slice(0, MAX_MESSAGE_LENGTH - 1)
  const end = start.lastIndexOf(' ')
  return `${end > 0 ? start.slice(0, end) : start}…`
}
