import {
  type Given,
  optional,
  text,
  type Values,
  type Variable,
  variable,
  type Variables,
} from '../kernel/variables.ts'
import type { S3Options } from './s3/client.ts'

/** The operator's choice of a store for media. */
export type StorageSettings =
  | { readonly kind: 'none' }
  | { readonly kind: 'local' }
  | { readonly kind: 's3'; readonly s3: S3Options }

/** A text that an S3 service is not used without. */
function needed(given: Given): string {
  if (given.text === '') given.faults.push(`${given.name} must be set with OBJECT_STORAGE=s3`)
  return given.text
}

/** An http(s) URL without a slash at its end. */
function baseUrl({ name, text: given, faults }: Given): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const plain = url !== undefined && url.search === '' && url.hash === '' && url.username === ''
  if (!plain || !/^https?:$/.test(url.protocol))
    faults.push(`${name} must be an http:// or https:// URL without a query`)
  return given.replace(/(?<!\/)\/+$/, '')
}

function bucketName(given: Given): string {
  const bucket = needed(given)
  if (bucket !== '' && !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    given.faults.push(`${given.name} must be the name of a bucket`)
  return bucket
}

/** The variables of an S3 service. */
const s3: { readonly [K in keyof S3Options]: Variable<S3Options[K]> } = {
  endpoint: variable('S3_ENDPOINT', (given) => needed(given) && baseUrl(given), {
    help: 'http(s) URL of the service, without the bucket',
  }),
  region: variable('S3_REGION', needed, {
    fallback: 'us-east-1',
    help: 'region for which requests are signed',
  }),
  bucket: variable('S3_BUCKET', bucketName, { help: 'bucket for media; it must exist' }),
  accessKeyId: variable('S3_ACCESS_KEY_ID', needed, {
    help: 'access key of an account that may read, write, list and delete',
  }),
  secretAccessKey: variable('S3_SECRET_ACCESS_KEY', needed, {
    help: 'secret of S3_ACCESS_KEY_ID',
    secret: true,
  }),
  publicBaseUrl: variable('S3_PUBLIC_BASE_URL', optional(baseUrl), {
    help: 'URL under which callers reach the bucket; unset: S3_ENDPOINT and S3_BUCKET',
  }),
}

/** The variables that choose a store; those of the S3 service are read only if it is chosen. */
export const storageVariables = {
  kind: variable('OBJECT_STORAGE', optional(text), {
    help: 'none, local (in DATA_DIR, for one process) or s3; unset: local with embedded stores, else none',
  }),
  publicBaseUrl: variable('PUBLIC_BASE_URL', optional(baseUrl), {
    help: 'URL under which callers reach this gateway, with which URLs of local objects begin; unset with embedded stores: the listen address',
  }),
  s3,
}

const kinds = ['none', 'local', 's3'] as const

/** Reads the choice of a store, and the URL by which callers reach the gateway. */
export function readStorage(
  read: <T extends Variables>(variables: T) => Values<T>,
  { embedded, serving }: { readonly embedded: boolean; readonly serving: boolean },
  faults: string[],
): { readonly objectStorage: StorageSettings; readonly publicBaseUrl: string | undefined } {
  const { s3: service, ...own } = storageVariables
  const { kind: wanted = embedded ? 'local' : 'none', publicBaseUrl } = read(own)
  const kind = kinds.find((one) => one === wanted)
  if (kind === undefined) faults.push(`${own.kind.name} must be one of ${kinds.join(', ')}`)
  if (kind === 'local' && serving && !embedded && publicBaseUrl === undefined)
    faults.push('PUBLIC_BASE_URL must be set with OBJECT_STORAGE=local and external stores')
  const objectStorage: StorageSettings =
    kind === 's3' ? { kind, s3: read(service) } : { kind: kind ?? 'none' }
  return { objectStorage, publicBaseUrl }
}
