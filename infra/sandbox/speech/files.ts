import type { FastifyInstance } from 'fastify'
import { runText, type TextWire } from '../calls/run.ts'
import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { readForm, type ReadForm } from '../kit/body.ts'
import { checkSignedUrl, signUrl } from '../media/files.ts'
import { queryOf, taskHandlers } from '../tasks/run.ts'
import type { Asker } from '../text/service.ts'
import { SpeechRefusal } from './errors.ts'
import { int64 } from './int64.ts'
import { filesOf, type StoredFile } from './store.ts'
import { succeeded } from './wire.ts'

const MB = 1024 * 1024
/** Where files are downloaded, by whoever holds the URL. */
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

const EXTENSIONS: Readonly<Record<string, Kind>> = {
  mp3: 'audio',
  m4a: 'audio',
  wav: 'audio',
  png: 'image',
  jpg: 'image',
  jpeg: 'image',
  webp: 'image',
  mp4: 'video',
  mov: 'video',
  txt: 'text',
  zip: 'zip',
}

/** The parts of an upload. @throws SpeechRefusal */
function uploadOf(form: ReadForm | null) {
  if (form === null) throw new SpeechRefusal(2013, 'body is no form')
  const purpose = form.texts.get('purpose')
  const limits = purpose === undefined ? undefined : purposes[purpose]
  if (purpose === undefined || limits === undefined) throw new SpeechRefusal(2013, 'purpose')
  const [file, ...others] = form.files
  if (file === undefined || file.name !== 'file' || others.length > 0)
    throw new SpeechRefusal(2013, 'file')
  const kind = EXTENSIONS[/\.([a-z0-9]+)$/i.exec(file.filename)?.[1]?.toLowerCase() ?? '']
  const limit = kind === undefined ? undefined : limits[kind]
  if (limit === undefined) throw new SpeechRefusal(2013, 'file format not supported')
  if (file.bytes.length > limit || file.bytes.length === 0)
    throw new SpeechRefusal(2013, 'file size')
  return { purpose, filename: file.filename, bytes: file.bytes }
}

function shown({ id, bytes, createdAtMs, filename, purpose }: StoredFile) {
  const created_at = Math.floor(createdAtMs / 1_000)
  return { file_id: int64(id), bytes: bytes.length, created_at, filename, purpose }
}

/**
 * Takes files, and gives them back. Faults of an upload stand in the name of its file; `made` has the bytes of
 * what is no upload.
 */
export function addUploadRoute(
  app: FastifyInstance,
  kit: FamilyKit,
  wire: TextWire,
  at: string,
  made: (id: string, credential: string) => Buffer = noFile,
) {
  const store = filesOf(kit)
  const account = ({ credential }: Asker): string => credentialHash(credential)

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
  app.post(`${at}/v1/files/upload`, async (request, reply) => {
    const form = await readForm(request.body, request.headers['content-type'] ?? '')
    return runText(
      kit,
      wire,
      {
        op: 'upload',
        model: null,
        body: null,
        userText: form?.files[0]?.filename ?? '',
        perform: (asker) => {
          const stored = store.add(account(asker), uploadOf(form))
          return succeeded(kit, { file: shown(stored) })
        },
      },
      request,
      reply,
    )
  })
}

function noFile(): never {
  throw new SpeechRefusal(2013, 'file_id')
}

/** Where a file is; undefined for none of the account's. */
export function fileAnswer(kit: FamilyKit, credential: string, id: string): Answer | undefined {
  const account = credentialHash(credential)
  const stored = filesOf(kit).find(account, id)
  if (stored === undefined) return undefined
  const path = `${DOWNLOADS_PATH}/${account}/${id}`
  const url = signUrl(kit.baseUrl(), path, kit.clock.nowMs(), DOWNLOAD_SECONDS)
  return succeeded(kit, { file: { ...shown(stored), download_url: url } })
}

/** The bytes of a file, to whoever holds its URL. */
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
