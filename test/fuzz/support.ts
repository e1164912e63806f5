import { STATUS_CODES } from 'node:http'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { startApp, type Harness } from '../api/support/app.ts'

export type Family = 'provA' | 'provAAssets' | 'provB' | 'provBVideo' | 'provC' | 'query' | 'plain'

/** Which error shape a path promises. */
export function familyOf(url: string): Family {
  if (/^\/provA\/?(?:[?#]|$)/.test(url)) return 'provAAssets'
  if (/^\/provA(?:[/?#]|$)/.test(url)) return 'provA'
  if (/^\/provC(?:[/?#]|$)/.test(url)) return 'provC'
  if (/^\/provB\/v1(?:[/?#]|$)/.test(url)) return 'provB'
  if (/^\/provB\/v2(?:[/?#]|$)/.test(url)) return 'provBVideo'
  if (/^\/api(?:[/?#]|$)/.test(url)) return 'query'
  return 'plain'
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

const shapes: Readonly<Record<Family, (body: unknown) => boolean>> = {
  provA: (body) =>
    isRecord(body) &&
    Object.keys(body).join() === 'error' &&
    isRecord(body['error']) &&
    Object.keys(body['error']).join() === 'code,message,param,type' &&
    isText(body['error']['code']) &&
    isText(body['error']['message']) &&
    typeof body['error']['param'] === 'string' &&
    isText(body['error']['type']),
  provAAssets: (body) => {
    if (!isRecord(body) || Object.keys(body).join() !== 'ResponseMetadata') return false
    const { ResponseMetadata: said } = body
    if (!isRecord(said) || !isRecord(said['Error'])) return false
    return (
      /^RequestId,(?:Action,)?(?:Version,)?Service,(?:Region,)?Error$/.test(
        Object.keys(said).join(),
      ) &&
      String(said['RequestId']).startsWith('req_') &&
      Object.keys(said['Error']).join() === 'Code,Message' &&
      isText(said['Error']['Code']) &&
      isText(said['Error']['Message'])
    )
  },
  provC: (body) =>
    isRecord(body) &&
    Object.keys(body).join() === 'code,reason,message,metadata' &&
    typeof body['code'] === 'number' &&
    isText(body['reason']) &&
    isText(body['message']) &&
    isRecord(body['metadata']) &&
    isText(body['metadata']['trace_id']),
  provB: (body) =>
    isRecord(body) &&
    Object.keys(body).join() === 'base_resp,trace_id' &&
    isRecord(body['base_resp']) &&
    Object.keys(body['base_resp']).join() === 'status_code,status_msg' &&
    Number(body['base_resp']['status_code']) > 0 &&
    isText(body['base_resp']['status_msg']) &&
    String(body['trace_id']).startsWith('req_'),
  provBVideo: (body) =>
    isRecord(body) &&
    Object.keys(body).join() === 'type,error,request_id' &&
    isRecord(body['error']) &&
    Object.keys(body['error']).join() === 'type,message,http_code' &&
    /\(\d{4}\)$/.test(String(body['error']['message'])) &&
    isText(body['request_id']),
  query: (body) =>
    isRecord(body) &&
    body['success'] === false &&
    isText(body['message']) &&
    isRecord(body['error']) &&
    isText(body['error']['code']),
  plain: (body) => isRecord(body) && isRecord(body['error']) && isText(body['error']['code']),
}

/** What a bad request may be answered with. */
const expected: ReadonlySet<number> = new Set([200, 302, 400, 401, 403, 404, 405, 413, 415])

/** Whether a 200 of this wire is a failure. */
function isToldInBody(url: string, answer: LightMyRequestResponse): boolean {
  if (familyOf(url) !== 'provB' || answer.statusCode !== 200) return false
  return !answer.body.includes('"status_code":0,') && answer.body.includes('"base_resp"')
}

/**
 * Why an answer breaks a promise: a 5xx, a status nobody expects, an error not in the family's
 * shape, no request id, or text of ours that must not be seen. Undefined when it keeps them.
 */
export function complaint(url: string, answer: LightMyRequestResponse): string | undefined {
  const where = `${answer.statusCode} ${STATUS_CODES[answer.statusCode]} for ${url.slice(0, 300)}`
  if (!expected.has(answer.statusCode)) return `${where}: ${answer.body.slice(0, 300)}`
  if (!String(answer.headers['x-request-id']).startsWith('req_')) return `${where}: no request id`
  if (answer.statusCode < 400 && !isToldInBody(url, answer)) return undefined
  if (/\bat .*\.ts:\d|node_modules|FST_ERR/.test(answer.body)) return `${where}: ${answer.body}`
  try {
    if (shapes[familyOf(url)](JSON.parse(answer.body))) return undefined
  } catch {
    return `${where}: not JSON: ${answer.body.slice(0, 300)}`
  }
  return `${where}: wrong shape: ${answer.body.slice(0, 300)}`
}

/** Sends a request and throws what is wrong with its answer. */
export async function attempt(
  harness: Harness,
  request: InjectOptions & { readonly url: string },
): Promise<LightMyRequestResponse> {
  const answer = await harness.app.inject(request)
  const wrong = complaint(request.url, answer)
  if (wrong !== undefined) throw new Error(wrong)
  return answer
}

/** An app whose use cases and reads never fail by themselves: any 5xx is the input's doing. */
export async function startFuzzed(): Promise<Harness> {
  return startApp({
    limits: { bodyBytes: { '/provA': 64 * 1024, '/provC': 64 * 1024, '/provB/v2': 64 * 1024 } },
  })
}
