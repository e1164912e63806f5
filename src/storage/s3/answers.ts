import { fetch as boundedFetch, Response } from 'undici'

/**
 * Answers of a service are not trusted: the address may be wrong, or a stranger's. Redirects are
 * refused, because a body and a signature would follow them to another host, and an answer is read
 * whole only up to a bound and only if it is plain XML, which the library reads in linear time.
 */

/** The largest answer that is no object: a page of 1,000 keys of the greatest length fits. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024
/** Maximum depth of the XML that such a service sends. */
const MAX_DEPTH = 8

/** An answer that no such service gives. Asking again would not help. */
export class UnusableAnswerError extends Error {
  override readonly name = 'UnusableAnswerError'
}

type FetchResponse = Awaited<ReturnType<typeof boundedFetch>>

/** Asks the service. An answer that is not read as an object is whole, bounded and plain. */
export async function fetchAnswer(
  url: string,
  init: Parameters<typeof boundedFetch>[1] & { readonly isObject: boolean },
): Promise<FetchResponse> {
  // Bytes that are packed again on the way would not have the length that is named.
  const headers = { ...(init.headers as Record<string, string>), 'accept-encoding': 'identity' }
  const answer = await boundedFetch(url, { ...init, headers, redirect: 'manual' })
  if (init.isObject && answer.ok) return answer
  const text = await wholeText(answer)
  const { status, statusText } = answer
  const whole = text === '' ? null : plainXml(text)
  // The status of a failure says enough; a proxy may answer with a page.
  if (whole === undefined && answer.ok)
    throw new UnusableAnswerError('the service gave an answer that is no plain XML')
  return new Response(whole ?? null, { status, statusText, headers: answer.headers })
}

async function wholeText({ body }: FetchResponse): Promise<string> {
  if (body === null) return ''
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    sizeBytes += piece.length
    // Leaving the loop ends the connection.
    if (sizeBytes > MAX_ANSWER_BYTES)
      throw new UnusableAnswerError(`the service gave an answer above ${MAX_ANSWER_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const NAME = /^[A-Za-z_][\w.-]{0,100}(?=[\s/]|$)/

/**
 * XML without its attributes; undefined if its tags do not nest, or nest too deep. The library
 * searches all of the remaining text for the end of each tag, which is quadratic if ends are
 * missing.
 */
export function plainXml(text: string): string | undefined {
  if (!text.includes('<')) return text
  const open: string[] = []
  let plain = ''
  let at = 0
  for (let start = text.indexOf('<'); start !== -1; start = text.indexOf('<', at)) {
    const end = text.indexOf('>', start)
    if (end === -1) return undefined
    const tag = text.slice(start + 1, end)
    plain += text.slice(at, start)
    at = end + 1
    if (tag.includes('<')) return undefined
    if (tag.startsWith('?') && tag.endsWith('?')) continue
    const isEnd = tag.startsWith('/')
    const name = NAME.exec(isEnd ? tag.slice(1) : tag)?.[0]
    if (name === undefined) return undefined
    if (isEnd) {
      if (open.pop() !== name) return undefined
      plain += `</${name}>`
    } else if (tag.endsWith('/')) plain += `<${name}/>`
    else {
      open.push(name)
      if (open.length > MAX_DEPTH) return undefined
      plain += `<${name}>`
    }
  }
  return open.length === 0 ? plain + text.slice(at) : undefined
}

/** An object's bytes, which fail where there are more than there should be. */
export async function* exactly(
  body: AsyncIterable<Uint8Array>,
  sizeBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let left = sizeBytes
  for await (const piece of body) {
    left -= piece.length
    if (left < 0) throw new UnusableAnswerError('the object is longer than the service said')
    yield piece
  }
  if (left > 0) throw new Error('the object is shorter than the service said')
}
