import type { S3Options } from './s3/client.ts'

/** The operator's choice of a store for media. */
export type StorageSettings =
  | { readonly kind: 'none' }
  | { readonly kind: 'local' }
  | { readonly kind: 's3'; readonly s3: S3Options }

/** The variables that say it, for the list of all. */
export const storageVariables = [
  {
    name: 'OBJECT_STORAGE',
    fallback: '',
    says: 'none, local (in DATA_DIR, for one process) or s3; unset: local with embedded stores, else none',
  },
  {
    name: 'PUBLIC_BASE_URL',
    fallback: '',
    says: 'what callers reach this gateway by, as URLs of local objects begin; unset with embedded stores: where it listens',
  },
  { name: 'S3_ENDPOINT', fallback: '', says: 'http(s) URL of the service, without the bucket' },
  { name: 'S3_REGION', fallback: 'us-east-1', says: 'region requests are signed for' },
  { name: 'S3_BUCKET', fallback: '', says: 'bucket for media; it must be there' },
  { name: 'S3_ACCESS_KEY_ID', fallback: '', says: 'account that may read, write, list and delete' },
  { name: 'S3_SECRET_ACCESS_KEY', fallback: '', says: 'its secret', secret: true },
  {
    name: 'S3_PUBLIC_BASE_URL',
    fallback: '',
    says: 'what leads callers to the bucket; unset: S3_ENDPOINT and S3_BUCKET',
  },
] as const

const kinds = ['none', 'local', 's3'] as const

/** Options of reading the variables. */
interface StorageReading {
  readonly text: (name: string) => string
  /** Where what is wrong is added. */
  readonly faults: string[]
  readonly embedded: boolean
  readonly serving: boolean
}

/** An http(s) URL without a slash at its end; undefined when not set. */
export function readBaseUrl(
  name: string,
  { text, faults }: Pick<StorageReading, 'text' | 'faults'>,
): string | undefined {
  const value = text(name)
  if (value === '') return undefined
  const url = URL.canParse(value) ? new URL(value) : undefined
  const plain = url !== undefined && url.search === '' && url.hash === '' && url.username === ''
  if (!plain || !/^https?:$/.test(url.protocol)) {
    faults.push(`${name} must be an http:// or https:// URL without a query`)
    return undefined
  }
  return value.replace(/(?<!\/)\/+$/, '')
}

export function readStorage(reading: StorageReading): StorageSettings {
  const { text, faults, embedded, serving } = reading
  const wanted = text('OBJECT_STORAGE') || (embedded ? 'local' : 'none')
  const kind = kinds.find((one) => one === wanted)
  switch (kind) {
    case undefined:
      faults.push(`OBJECT_STORAGE must be one of ${kinds.join(', ')}`)
      return { kind: 'none' }
    case 'none':
      return { kind }
    case 'local':
      if (serving && !embedded && text('PUBLIC_BASE_URL') === '')
        faults.push('PUBLIC_BASE_URL must be set with OBJECT_STORAGE=local and external stores')
      return { kind }
    case 's3':
      return { kind, s3: readS3(reading) }
  }
}

function readS3(reading: StorageReading): S3Options {
  const needed = (name: string): string => {
    const value = reading.text(name)
    if (value === '') reading.faults.push(`${name} must be set with OBJECT_STORAGE=s3`)
    return value
  }
  needed('S3_ENDPOINT')
  const bucket = needed('S3_BUCKET')
  if (bucket !== '' && !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    reading.faults.push('S3_BUCKET must be the name of a bucket')
  return {
    endpoint: readBaseUrl('S3_ENDPOINT', reading) ?? '',
    region: needed('S3_REGION'),
    bucket,
    accessKeyId: needed('S3_ACCESS_KEY_ID'),
    secretAccessKey: needed('S3_SECRET_ACCESS_KEY'),
    publicBaseUrl: readBaseUrl('S3_PUBLIC_BASE_URL', reading),
  }
}
