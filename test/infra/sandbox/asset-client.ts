import { createHash, createHmac } from 'node:crypto'
import { type Reply, call, type Loose } from './client.ts'

/** The key the sandbox knows. */
export const KEY = { id: 'AKSANDBOX', secret: 'SKSANDBOX+secret/==' }

export const DOMESTIC = 'cn-beijing'
export const OVERSEAS = 'ap-southeast-1'

/** How a request differs from one that is right. */
export interface Signing {
  readonly region?: string
  readonly keyId?: string
  readonly secret?: string
  readonly service?: string
  /** Unix ms. */
  readonly atMs?: number
  readonly path?: string
  readonly version?: string
  /** Sent in place of the body that was signed. */
  readonly sentBody?: string
  readonly headers?: Readonly<Record<string, string>>
}

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The headers of a signed request, made by a signer of the tests' own. */
export function signedHeaders(
  url: URL,
  body: string,
  signing: Signing = {},
): Readonly<Record<string, string>> {
  const { region = DOMESTIC, keyId = KEY.id, secret = KEY.secret, service = 'ark' } = signing
  const atMs = signing.atMs ?? Date.now()
  const at = `${new Date(atMs).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  const headers = {
    'content-type': 'application/json',
    host: url.host,
    'x-content-sha256': sha256(body),
    'x-date': at,
  }
  const names = Object.keys(headers).join(';')
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const query = [...url.searchParams].map((pair) => pair.map(encodeURIComponent).join('=')).sort()
  const request = `POST\n${url.pathname}\n${query.join('&')}\n${lines.join('')}\n${names}\n${sha256(body)}`
  const scope = [at.slice(0, 8), region, service, 'request']
  const key = scope.reduce<string | Buffer>(hmac, secret)
  const signature = hmac(key, `HMAC-SHA256\n${at}\n${scope.join('/')}\n${sha256(request)}`)
  return {
    ...headers,
    authorization: `HMAC-SHA256 Credential=${keyId}/${scope.join('/')}, SignedHeaders=${names}, Signature=${signature.toString('hex')}`,
  }
}

/** Asks for an action, signed. */
export async function act(
  url: string,
  action: string,
  body: object | string,
  signing: Signing = {},
): Promise<Reply> {
  const { path = '/open/', version = '2024-01-01' } = signing
  const address = `${path}?Action=${action}&Version=${version}`
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { host: _host, ...headers } = signedHeaders(new URL(url + address), text, signing)
  const sent = signing.sentBody ?? text
  return call(url, 'POST', address, sent, { ...headers, ...signing.headers })
}

/** The `Result` of an action that must succeed. */
export async function done(
  url: string,
  action: string,
  body: object,
  signing: Signing = {},
): Promise<Loose> {
  const reply = await act(url, action, body, signing)
  if (reply.status !== 200) throw new Error(`${action} answered ${reply.status}: ${reply.text}`)
  return reply.json.Result
}

/** A new group of the general library; its id. */
export async function newGroup(url: string, signing: Signing = {}, more = {}): Promise<string> {
  const body = { Name: 'a group', GroupType: 'AIGC', ...more }
  return (await done(url, 'CreateAssetGroup', body, signing)).Id
}

/** An address that carries a marker to upstream. */
export function marked(marker: string): string {
  const url = new URL('https://media.example.com/a.png')
  url.searchParams.set('mark', `[[${marker}]]`)
  return url.href
}

/** What `CreateAsset` is asked, for a picture. */
export function picture(groupId: string, more: object = {}): object {
  return { GroupId: groupId, URL: 'https://media.example.com/a.png', AssetType: 'Image', ...more }
}

/** A new picture under a marker; its id. */
export async function newAsset(
  url: string,
  groupId: string,
  marker: string,
  more: object = {},
  signing: Signing = {},
): Promise<string> {
  const body = picture(groupId, { URL: marked(marker), ...more })
  return (await done(url, 'CreateAsset', body, signing)).Id
}

/** What an action is refused with. */
export interface Refused {
  readonly status: number
  readonly code: string | undefined
}

export async function refusedWith(
  url: string,
  action: string,
  body: object | string,
  signing: Signing = {},
): Promise<Refused> {
  const { status, json } = await act(url, action, body, signing)
  return { status, code: json?.ResponseMetadata?.Error?.Code }
}

/** A verification whose page is open to a person. */
export interface Begun {
  readonly token: string
  /** The page's address. */
  readonly link: string
}

/** Begins a verification. */
export async function begin(
  url: string,
  callbackUrl: string,
  signing: Signing = {},
): Promise<Begun> {
  const reply = await act(url, 'CreateVisualValidateSession', { CallbackURL: callbackUrl }, signing)
  if (reply.status !== 200) throw new Error(`no session: ${reply.text}`)
  return { token: reply.json.BytedToken, link: reply.json.H5Link }
}

/** Presses a button of the page; where it sends the browser, which does not go there. */
export async function press(link: string, outcome: string): Promise<Response> {
  return fetch(link, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ outcome }).toString(),
    signal: AbortSignal.timeout(10_000),
  })
}

/** A group of a person who was verified; its id. */
export async function verifiedPerson(url: string, signing: Signing = {}): Promise<string> {
  const { token, link } = await begin(url, 'https://gw.example.com/done', signing)
  await (await press(link, 'pass')).arrayBuffer()
  const { json } = await act(url, 'GetVisualValidateResult', { BytedToken: token }, signing)
  return json.GroupId
}
