import type { ComponentChildren, JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { assetUrl } from '../static/assets.ts'
import { SaveView } from './save-view.tsx'
import { Zone } from './zone.tsx'
import { Printed, type PrintedFacts } from './printed.tsx'
import {
  addressOf,
  findHref,
  keepingZone,
  overviewHref,
  savedViewsHref,
  sessionsHref,
  signOutHref,
} from './href.ts'

/** A place in the head of every page. */
export interface Place {
  readonly href: string
  readonly name: string
  /** Where the addresses of the pages below it begin: it stays the current one there. */
  readonly below?: readonly string[]
  /** What waits there for the reader, such as `3`; absent: nothing. */
  readonly waiting?: string | undefined
  /** What every page warns of, with a link to the place; absent: nothing. */
  readonly alert?: string | undefined
}

/** The reference of the API, which is no page of the console. */
const API: Place = { href: '/docs', name: 'API' }

/** The reader, as the head of every page shows it. */
export interface Reader {
  readonly tokenName: string
  readonly lastFour: string
  /** The name of its tenant, or `all tenants`. */
  readonly sees: string
  /** `finance`, `support`, `operator`, `administrator` or `reader`. */
  readonly role: string
  /** Whether it may save views. */
  readonly savesViews: boolean
  /** The places that it sees. */
  readonly places: readonly Place[]
}

export interface PageOptions {
  readonly title: string
  /** The path of the request, without its query. */
  readonly path: string
  /** Undefined before a sign-in. */
  readonly reader: Reader | undefined
  /** Time zone of the times on the page; undefined where it has none. */
  readonly zone?: string | undefined
  /** What a printed page says about itself; undefined where it has no facts. */
  readonly printed?: PrintedFacts | undefined
  /** The zone that links to other pages carry; undefined: none, it is UTC. */
  readonly tz?: string | undefined
  /** Members of the address; undefined: no address shows this page again. */
  readonly query?: Readonly<Record<string, string>> | undefined
  /** The word in the search field. */
  readonly word?: string | undefined
  readonly children: ComponentChildren
}

function currentOf({ href, below = [] }: Place, path: string): 'page' | 'true' | undefined {
  if (href === path) return 'page'
  return below.some((begin) => path.startsWith(begin)) ? 'true' : undefined
}

function Find({ word }: { readonly word: string }): JSX.Element {
  return (
    <form class="find" action={findHref()} method="post" role="search" aria-label="Find">
      <input
        type="search"
        name="q"
        value={word}
        placeholder="Find an id, a name, the last four of a token"
        aria-label="Find an id, a name, or the last four of a token"
        autocomplete="off"
        spellcheck={false}
        maxLength={4_000}
      />
    </form>
  )
}

function Head({ path, reader, word = '' }: PageOptions): JSX.Element | null {
  if (reader === undefined) return null
  return (
    <header class="top">
      <a class="brand" href={overviewHref()}>
        <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" focusable="false">
          <path class="brand-post" d="M3 3h4v16H3z" />
          <path class="brand-bar" d="M7 6h13v4H7z" />
        </svg>
        Tollgate
      </a>
      <nav aria-label="Pages">
        {[...reader.places, API].map((place) => (
          <a key={place.href} href={place.href} aria-current={currentOf(place, path)}>
            {place.name}
            {place.waiting === undefined ? null : (
              <>
                {' '}
                <span class="waiting">
                  {place.waiting}
                  <span class="unseen"> to decide</span>
                </span>
              </>
            )}
          </a>
        ))}
      </nav>
      <Find word={word} />
      <details class="who">
        <summary>
          <span class="role">{reader.role}</span> <span class="sees">{reader.sees}</span>
        </summary>
        <div>
          <p>
            {reader.tokenName} <code>…{reader.lastFour}</code>
          </p>
          <p>
            <a href={sessionsHref()}>Sessions</a>
          </p>
          {reader.savesViews ? (
            <p>
              <a href={savedViewsHref()}>Saved views</a>
            </p>
          ) : null}
          <form method="post" action={signOutHref()}>
            <button type="submit">Sign out</button>
          </form>
        </div>
      </details>
      {reader.places.map(({ href, alert }) =>
        alert === undefined ? null : (
          <p key={href} class="alert">
            <a href={href}>{alert}</a>
          </p>
        ),
      )}
    </header>
  )
}

/** The script adds no style, which the policy of the console would refuse. */
const SCRIPT_SETTINGS = JSON.stringify({ includeIndicatorCSS: false, defaultSettleDelay: 0 })

function Page(options: PageOptions): JSX.Element {
  const { title, path, query, reader, zone, printed, children } = options
  const isSaved = reader?.savesViews === true && zone !== undefined && path !== savedViewsHref()
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="htmx-config" content={SCRIPT_SETTINGS} />
        <title>{`${title} – Tollgate`}</title>
        <link rel="stylesheet" href={assetUrl('console.css')} />
        <link rel="icon" type="image/svg+xml" href={assetUrl('icon.svg')} />
        <script src={assetUrl('htmx.js')} defer></script>
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <Head {...options} />
        {reader === undefined || printed === undefined ? null : (
          <Printed title={title} sees={reader.sees} of={printed} />
        )}
        <main id="content" tabIndex={-1}>
          {reader === undefined || zone === undefined ? null : (
            <Zone path={options.path} zone={zone} query={options.query} />
          )}
          {children}
          {!isSaved || query === undefined ? null : <SaveView address={addressOf(path, query)} />}
        </main>
        {reader === undefined || zone === undefined ? null : (
          <footer>
            <span>times in {zone}</span>
          </footer>
        )}
      </body>
    </html>
  )
}

/** The whole page as text: everything that is not markup of the console is escaped. */
export function renderPage(options: PageOptions): string {
  return keepingZone(`<!doctype html>${renderToString(<Page {...options} />)}`, options.tz)
}
