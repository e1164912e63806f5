import t from 'tap'
import { fileDecider, type FileCommand, type FileState } from '../../../src/domain/file/decider.ts'
import { checkFilename, MAX_FILENAME_CHARACTERS } from '../../../src/domain/file/filename.ts'
import type { FileEvent } from '../../../src/domain/file/events.ts'

const at = '2026-01-02T03:05:00.000Z'
const file = {
  fileId: 'file-1',
  tenantId: 'tenant_1',
  userId: 'user_1',
  tokenId: 'token_1',
  purpose: 'vision',
  filename: 'boat.png',
  sizeBytes: 3,
  uploadedAt: at,
} as const
const upload: FileCommand = { kind: 'upload', file }
const deletion = {
  kind: 'delete',
  fileId: 'file-1',
  tenantId: 'tenant_1',
  tokenId: 'token_2',
  at,
} as const

function given(...events: readonly FileEvent[]): FileState {
  return events.reduce(fileDecider.evolve, fileDecider.initial)
}
const uploaded: FileEvent = { type: 'FileUploaded', data: file }
const deleted: FileEvent = {
  type: 'FileDeleted',
  data: {
    fileId: 'file-1',
    tenantId: 'tenant_1',
    userId: 'user_1',
    tokenId: 'token_2',
    deletedAt: at,
  },
}

t.test('a file is uploaded once and deleted once', (t) => {
  t.same(fileDecider.decide(upload, given()), [uploaded])
  t.same(fileDecider.decide(upload, given(uploaded)), [])
  t.same(fileDecider.decide(upload, given(uploaded, deleted)), [], 'an id is never used again')
  t.same(fileDecider.decide(deletion, given(uploaded)), [deleted], 'by any token of the tenant')
  t.end()
})

t.test('file_not_found for absent, deleted and foreign files', (t) => {
  const foreign = { ...deletion, tenantId: 'tenant_2' }
  const cases = [
    [deletion, given()],
    [deletion, given(uploaded, deleted)],
    [foreign, given(uploaded)],
  ] as const
  for (const [command, state] of cases)
    t.throws(() => fileDecider.decide(command, state), { code: 'file_not_found' })
  t.end()
})

t.test('a filename is printable and is no path', (t) => {
  const longest = 'x'.repeat(MAX_FILENAME_CHARACTERS)
  for (const name of ['a', '.hidden', '...', 'größe 大.png', 'a b (1).tar.gz', '🛶.png', longest])
    t.doesNotThrow(() => checkFilename(name, 'file'), name)
  const refused = [
    '',
    '.',
    '..',
    'a/b',
    'a\\b',
    '/',
    'a\0',
    'a\nb',
    '\u202egnp',
    '\ufeff',
    '\ud800',
    `${longest}x`,
  ]
  for (const name of refused)
    t.throws(() => checkFilename(name, 'file'), {
      code: 'invalid_request',
      details: { param: 'file' },
    })
  t.end()
})
