import * as fc from 'fast-check'
import t from 'tap'
import { leafHash } from '../../src/kernel/merkle.ts'
import {
  checkpointText,
  noteSigner,
  openNote,
  readCheckpoint,
  readProof,
  writeProof,
} from '../../src/kernel/signed-note.ts'
import { propertyRuns } from '../helpers/property-runs.ts'

/** The example of C2SP signed-note. */
const vkey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
const text = 'This is an example message.\n'
const note = `${text}\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n`

const signer = noteSigner('gateway.example/statements', Buffer.alloc(32, 7))
const head = { origin: 'gateway.example/acme/CNY/2026-11/1', size: 8, root: leafHash('a') }

t.test('the example of C2SP opens by its key, and no other text or key does', (t) => {
  t.equal(openNote(note, [vkey]), text)
  t.equal(openNote(note, [signer.vkey, vkey]), text)
  t.throws(() => openNote(note.replace('an', 'An'), [vkey]), {
    message: 'the signature by example.com/foo is not one of this text',
  })
  t.throws(() => openNote(note, [signer.vkey]), {
    message: 'none of the known keys signed the note',
  })
  for (const other of [text, '', `${note}\n`, note.trimEnd(), note.replace('— ', '- ')])
    t.throws(() => openNote(other, [vkey]), { message: 'not a signed note' })
  t.throws(() => openNote(`${note}${'— b AAAAAAA=\n'.repeat(64)}`, [vkey]), {
    message: 'more than 64 signatures',
  })
  t.end()
})

t.test('a key of another type, with another id or in other base64 is refused', (t) => {
  t.throws(() => openNote(note, [vkey.replace('903a', '903b')]), {
    message: 'the id of the key example.com/foo is not the one of its bytes',
  })
  for (const other of [vkey.replace('+Ae', '+Be'), vkey.slice(0, -1), `${vkey}=`, 'example', ''])
    t.throws(() => openNote(note, [other]), {
      message: `no Ed25519 key of a signed note: ${other}`,
    })
  t.end()
})

t.test('a note is signed the same way twice, and a further signature is ignored', (t) => {
  const signed = signer.sign(checkpointText(head))
  t.equal(
    noteSigner('gateway.example/statements', Buffer.alloc(32, 7)).sign(checkpointText(head)),
    signed,
  )
  const witnessed = `${signed}— witness.example AAAAAAA=\n`
  t.same(readCheckpoint(openNote(witnessed, [signer.vkey])), head)
  t.end()
})

t.test('a checkpoint and a proof are read as they were written', (t) => {
  const hashes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes))
  const extras = fc.option(fc.uint8Array({ minLength: 1 }), { nil: undefined })
  fc.assert(
    fc.property(
      fc.maxSafeNat(),
      fc.array(hashes, { maxLength: 20 }),
      extras,
      (index, path, extra) => {
        const proof = { extra, index, path, checkpoint: signer.sign(checkpointText(head)) }
        const written = writeProof(proof)
        const read = readProof(written)
        return (
          writeProof(read) === written &&
          read.index === index &&
          Buffer.concat(read.path).equals(Buffer.concat(path)) &&
          Buffer.from(read.extra ?? []).equals(Buffer.from(extra ?? [])) &&
          openNote(read.checkpoint, [signer.vkey]) === checkpointText(head)
        )
      },
    ),
    { numRuns: propertyRuns(200) },
  )
  t.end()
})

t.test('a checkpoint or a proof in another form is refused', (t) => {
  for (const other of [
    '',
    'origin\n',
    '\n1\nAA==\n',
    'origin\n1\nAA==\n',
    'origin\n01\n\n',
    'a\n1e3\n\n',
  ])
    t.throws(() => readCheckpoint(other), /^not /, JSON.stringify(other))
  const root = head.root.toString('base64')
  for (const size of ['-1', '1.0', '9007199254740993', ' 1', ''])
    t.throws(() => readCheckpoint(`origin\n${size}\n${root}\n`), {
      message: `not a whole number: ${size}`,
    })
  const proof = writeProof({ index: 1, path: [head.root], checkpoint: note })
  for (const other of [
    '',
    proof.replace('@v1', '@v2'),
    proof.replace('index 1', 'index 01'),
    proof.replace('index 1', 'Index 1'),
    proof.replace('index', 'extra A\nindex'),
    proof.replace(root, root.slice(1)),
    proof.replace('\n\n', '\n'),
  ])
    t.throws(() => readProof(other), /^not /, JSON.stringify(other))
  t.end()
})
