import type { IncomingMessage } from 'node:http'
import { AwsV4Signer } from 'aws4fetch'

/** Checks signatures of version 4 as the real service does, by a signer that is not the client's. */

const SIGNED = /^AWS4-HMAC-SHA256 Credential=[^,]+, ?SignedHeaders=([^,]+), ?Signature=(\w+)$/

interface Account {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

function dateOf(amzDate: string): number {
  return Date.parse(amzDate.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
}

async function ofHeaders(request: IncomingMessage, url: URL, account: Account): Promise<boolean> {
  const [, names, given] = SIGNED.exec(request.headers.authorization ?? '') ?? []
  if (names === undefined) return false
  const values = names.split(';').map((name) => [name, String(request.headers[name])] as const)
  const signer = new AwsV4Signer({
    ...account,
    method: request.method ?? '',
    url: url.href,
    headers: values
      .filter(([name]) => name !== 'host')
      .map(([name, value]): [string, string] => [name, value]),
    service: 's3',
    allHeaders: true,
    datetime: String(request.headers['x-amz-date']),
  })
  return (await signer.signature()) === given
}

async function ofQuery(request: IncomingMessage, url: URL, account: Account): Promise<boolean> {
  const given = url.searchParams.get('X-Amz-Signature')
  const datetime = url.searchParams.get('X-Amz-Date') ?? ''
  const endsAtMs = dateOf(datetime) + Number(url.searchParams.get('X-Amz-Expires')) * 1_000
  url.searchParams.delete('X-Amz-Signature')
  const signer = new AwsV4Signer({
    ...account,
    method: request.method ?? '',
    url: url.href,
    service: 's3',
    signQuery: true,
    datetime,
  })
  return endsAtMs > Date.now() && (await signer.signature()) === given
}

/** Whether a request is signed by the account, and its URL, if that is signed, not over. */
export function isSigned(request: IncomingMessage, account: Account): Promise<boolean> {
  const url = new URL(request.url ?? '', `http://${request.headers.host}`)
  return url.searchParams.has('X-Amz-Signature')
    ? ofQuery(request, url, account)
    : ofHeaders(request, url, account)
}
