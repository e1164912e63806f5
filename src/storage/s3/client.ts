import { S3mini } from 's3mini'
import { Agent } from 'undici'
import { createBackoff, pause } from '../../kernel/pause.ts'
import { storageUnavailable } from '../errors.ts'
import { fetchAnswer, UnusableAnswerError } from './answers.ts'

export interface S3Options {
  /** The URL of the service, without the bucket. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Base URL of the bucket for callers, if it is not the endpoint with the bucket's name. */
  readonly publicBaseUrl: string | undefined
}

/** The bounds of one exchange with the service (P10). */
export interface S3Limits {
  readonly connectTimeoutMs: number
  /** A whole exchange, but for reading an object, which may take longer while bytes arrive. */
  readonly exchangeTimeoutMs: number
  /** Reading an object, while bytes arrive. */
  readonly readTimeoutMs: number
  /** Exchanges for one page of a list: some services give the keys of a page in several answers. */
  readonly exchangesAPage: number
  /** The wait for the first and for the next bytes of an object. */
  readonly silenceTimeoutMs: number
  readonly tries: number
  readonly connections: number
  /**
   * A body up to this size is sent in one request, a larger one in parts of this size; one part is
   * in memory.
   */
  readonly partBytes: number
}

export const defaultS3Limits: S3Limits = {
  connectTimeoutMs: 5_000,
  exchangeTimeoutMs: 60_000,
  readTimeoutMs: 3_600_000,
  exchangesAPage: 100,
  silenceTimeoutMs: 20_000,
  tries: 3,
  connections: 64,
  partBytes: 8 * 1024 * 1024,
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 2_000
const MISSING = 404
/** The codes and statuses of a service without space. */
const FULL: ReadonlySet<unknown> = new Set([
  'InsufficientCapacity',
  'XMinioStorageFull',
  'QuotaExceeded',
])
const FULL_STATUS = 507
const transientStatuses: ReadonlySet<unknown> = new Set([408, 425, 429, 500, 502, 503, 504])

function detailOf(error: unknown, name: 'status' | 'serviceCode' | 'code'): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined
}

/** Whether the service reports that the object does not exist; a missing bucket does not count. */
export function isMissing(error: unknown): boolean {
  return detailOf(error, 'status') === MISSING && serviceCodeOf(error) !== 'NoSuchBucket'
}

function serviceCodeOf(error: unknown): unknown {
  return detailOf(error, 'serviceCode') ?? detailOf(error, 'code')
}

function isTransient(error: unknown): boolean {
  if (error instanceof UnusableAnswerError) return false
  const status = detailOf(error, 'status')
  // Undefined: there was no answer.
  return status === undefined || transientStatuses.has(status)
}

export function bucketErrorOf(error: unknown): Error {
  if (error instanceof UnusableAnswerError) return storageUnavailable('away', error)
  const status = detailOf(error, 'status')
  if (status === FULL_STATUS || FULL.has(serviceCodeOf(error)))
    return storageUnavailable('full', error)
  return storageUnavailable(isTransient(error) ? 'away' : 'refused', error)
}

/** One exchange with the service. Each has a timeout and is retried if that can help. */
export interface S3Client {
  readonly exchange: <Result>(work: (s3: S3mini) => Promise<Result>) => Promise<Result>
  /** The exchange for an object that is read at the reader's pace. */
  readonly read: <Result>(work: (s3: S3mini) => Promise<Result>) => Promise<Result>
  /** The exchange for one page of a list, for which the library may send several requests. */
  readonly listPage: <Result>(work: (s3: S3mini) => Promise<Result>) => Promise<Result>
  readonly presign: (key: string, lifeS: number) => Promise<string>
  readonly close: () => Promise<void>
}

export function createS3Client(options: S3Options, limits: S3Limits): S3Client {
  const agent = new Agent({
    connect: { timeout: limits.connectTimeoutMs },
    headersTimeout: limits.silenceTimeoutMs,
    bodyTimeout: limits.silenceTimeoutMs,
    connections: limits.connections,
  })
  const endpoint = `${options.endpoint.replace(/(?<!\/)\/+$/, '')}/${options.bucket}`
  const clientWith = ({ isObject = false, mayAsk = () => true }): S3mini => {
    const fetch = (url: string, init: object) => {
      if (!mayAsk())
        throw new UnusableAnswerError('the service gives a page of a list in no end of answers')
      return fetchAnswer(url, { ...init, dispatcher: agent, isObject })
    }
    return new S3mini({
      region: options.region,
      accessKeyId: options.accessKeyId,
      secretAccessKey: options.secretAccessKey,
      endpoint,
      requestAbortTimeout: isObject ? limits.readTimeoutMs : limits.exchangeTimeoutMs,
      // The library's types differ slightly from those of the platform.
      fetch: fetch as unknown as typeof globalThis.fetch,
    })
  }
  const writing = clientWith({})
  const reading = clientWith({ isObject: true })
  const outside = new S3mini({ ...options, endpoint: options.publicBaseUrl ?? endpoint })
  const attempt = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const pauses = createBackoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
    for (let tries = 1; ; tries += 1) {
      try {
        return await work()
      } catch (error) {
        if (tries === limits.tries || !isTransient(error)) throw error
        await pause(pauses.nextMs())
      }
    }
  }
  return {
    exchange: (work) => attempt(() => work(writing)),
    read: (work) => attempt(() => work(reading)),
    listPage: (work) =>
      attempt(() => {
        let left = limits.exchangesAPage
        return work(clientWith({ mayAsk: () => (left -= 1) >= 0 }))
      }),
    presign: (key, lifeS) => outside.getPresignedUrl('GET', key, lifeS),
    close: () => agent.destroy(),
  }
}
