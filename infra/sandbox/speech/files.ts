import type { FastifyInstance } from 'fastify'
import { addCall } from '../calls/run.ts'
import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { queryOf, type Wire } from '../http/wire.ts'
import { readForm, type ReadForm } from '../kit/body.ts'
import { checkSignedUrl, signUrl } from '../media/files.ts'
import { taskHandlers } from '../tasks/run.ts'
import { int64, refusalOf, succeeded } from './parse.ts'

/** A file of an account. */
export interface StoredFile {
  /** In decimal. */
  readonly id: string
  readonly purpose: string
  readonly filename: string
  readonly bytes: Buffer
  readonly createdAtMs: number
}

/** Files beyond are the oldest and forgotten. */
const MAX_FILES = 2_000
/** First of the ids: no double holds it nor those that follow. */
const FIRST_ID = 2n ** 53n + 1n

/** Files by the account they belong to, in memory. */
class FileStore {
  readonly #files = new Map<string, StoredFile>()
  readonly #nowMs: () => number
  #nextId = FIRST_ID

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Odd ids alone: rounded to a double, each would be another. */
  add(account: string, file: Omit<StoredFile, 'id' | 'createdAtMs'>): StoredFile {
    const id = this.#nextId.toString()
    this.#nextId += 2n
    const stored = { ...file, id, createdAtMs: this.#nowMs() }
    this.#files.set(`${account}\n${id}`, stored)
    if (this.#files.size > MAX_FILES) {
      const [oldest] = this.#files.keys()
      if (oldest !== undefined) this.#files.delete(oldest)
    }
    return stored
  }

  find(account: string, id: string): StoredFile | undefined {
    return this.#files.get(`${account}\n${id}`)
  }

  reset(): void {
    this.#files.clear()
  }
}

const stores = new WeakMap<object, FileStore>()

/** The files of a sandbox: families with the same accounts share them. */
export function filesOf(kit: FamilyKit): FileStore {
  const known = stores.get(kit)
  if (known !== undefined) return known
  const store = new FileStore(kit.clock.nowMs)
  stores.set(kit, store)
  kit.onReset(() => store.reset())
  return store
}

const MB = 1024 * 1024
/** Path of downloads; the URL is the only credential. */
const DOWNLOADS_PATH = '/media/files'
const DOWNLOAD_SECONDS = 9 * 3_600

type Kind = 'image' | 'video' | 'audio' | 'text' | 'zip'

/** What may be uploaded for a purpose, and how large each may be. */
const purposes: Readonly<Record<string, Partial<Readonly<Record<Kind, number>>>>> = {
  voice_clone: { audio: 20 * MB },
  prompt_audio: { audio: 20 * MB },
  t2a_async_input: { text: 20 * MB, zip: 20 * MB },
  video_generation_input: { image: 30 * MB, video: 50 * MB, audio: 15 * MB },
}

const EXTENSIONS: Readonly<Record<Kind, string>> = {
  audio: 'mp3 m4a wav',
  image: 'png jpg jpeg webp',
  video: 'mp4 mov',
  text: 'txt',
  zip: 'zip',
}

/** How large a file of that name may be for a purpose; undefined for one that may not be. */
function limitOf(filename: string, limits: Readonly<Partial<Record<Kind, number>>>) {
  const extension = /\.([a-z0-9]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? ''
  const kinds = Object.keys(limits) as Kind[]
  const kind = kinds.find((one) => EXTENSIONS[one].split(' ').includes(extension))
  return kind && limits[kind]
}

/** The parts of an upload. @throws Refusal */
function uploadOf(form: ReadForm | null) {
  if (form === null) throw refusalOf(2013, 'body is no form')
  const purpose = form.texts.get('purpose')
  const limits = purpose === undefined ? undefined : purposes[purpose]
  if (purpose === undefined || limits === undefined) throw refusalOf(2013, 'purpose')
  const [file, ...others] = form.files
  if (file === undefined || file.name !== 'file' || others.length > 0) throw refusalOf(2013, 'file')
  const limit = limitOf(file.filename, limits)
  if (limit === undefined) throw refusalOf(2013, 'file format not supported')
  if (file.bytes.length > limit || file.bytes.length === 0) throw refusalOf(2013, 'file size')
  return { purpose, filename: file.filename, bytes: file.bytes }
}

function shown({ id, bytes, createdAtMs, filename, purpose }: StoredFile) {
  const created_at = Math.floor(createdAtMs / 1_000)
  return { file_id: int64(id), bytes: bytes.length, created_at, filename, purpose }
}

/**
 * Takes files, and gives them back. The name of its file holds the faults of an upload; `made` has
 * the bytes of what is no upload.
 */
export function addUploadRoute(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: Wire,
  at: string,
  made: (id: string, credential: string) => Buffer = noFile,
): void {
  const store = filesOf(kit)
  const { asked } = taskHandlers(kit, wire)
  app.get(
    `${at}/v1/files/retrieve_content`,
    asked(
      'retrieve-content',
      ({ id, credential }) => ({
        status: 200,
        headers: { 'content-type': 'application/octet-stream' },
        body: store.find(credentialHash(credential), id)?.bytes ?? made(id, credential),
      }),
      (request) => queryOf(request).get('file_id') ?? '',
    ),
  )
  addCall(app, kit, wire, `${at}/v1/files/upload`, async (_json, request) => {
    const form = await readForm(request.body, request.headers['content-type'] ?? '')
    return {
      op: 'upload',
      model: null,
      body: null,
      userText: form?.files[0]?.filename ?? '',
      perform: ({ credential }) => {
        const stored = store.add(credentialHash(credential), uploadOf(form))
        return succeeded(kit, { file: shown(stored) })
      },
    }
  })
}

function noFile(): never {
  throw refusalOf(2013, 'file_id')
}

/** Where a file is; undefined for none of the account's. */
export function fileAnswer(kit: FamilyKit, credential: string, id: string): Answer | undefined {
  const account = credentialHash(credential)
  const stored = filesOf(kit).find(account, id)
  if (stored === undefined) return undefined
  const path = `${DOWNLOADS_PATH}/${account}/${id}`
  const url = signUrl(kit, path, kit.clock.nowMs(), DOWNLOAD_SECONDS)
  return succeeded(kit, { file: { ...shown(stored), download_url: url } })
}

/** Serves the bytes of a file; its URL is the only credential. */
export function addDownloadRoute(app: FastifyInstance, kit: FamilyKit): void {
  app.get(`${DOWNLOADS_PATH}/:account/:id`, (request, reply) => {
    const { account, id } = request.params as { readonly account: string; readonly id: string }
    const { searchParams, pathname } = new URL(request.url, 'http://sandbox')
    const stored = filesOf(kit).find(account, id)
    if (checkSignedUrl(pathname, searchParams, kit.clock.nowMs()) !== null)
      return reply.code(403).send()
    if (stored === undefined) return reply.code(404).send()
    return reply.type('application/octet-stream').send(stored.bytes)
  })
}
