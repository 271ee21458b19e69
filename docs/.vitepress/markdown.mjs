// What the site makes of Markdown beyond what VitePress does. GitHub shows the same files.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { slug } from 'github-slugger'
import { docs, withoutComments } from './pages.mjs'

const root = dirname(docs)

export const repository = 'https://github.com/zktorture/zktorture'

// onGitHub returns the address of a link that leaves docs/ or names no page, and undefined for other links. It throws
// for a link into nothing.
export function onGitHub(page, href) {
  if (/^[a-z+]+:|^\/|^#|^$/i.test(href)) return
  const [path, anchor] = decodeURI(href).split('#')
  const file = join(docs, dirname(page), path)
  const inside = !relative(docs, file).startsWith('..')
  if (inside && (!existsSync(file) || /\.md$/.test(path) || statSync(file).isDirectory())) return
  if (!existsSync(file)) throw new Error(`docs/${page} links to ${href}, which is not there`)
  if (anchor && path.endsWith('.md') && !anchors(file).has(anchor)) {
    throw new Error(`docs/${page} links to ${href}, and that file has no such heading`)
  }
  const kind = statSync(file).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/main/${relative(root, file)}${anchor ? '#' + anchor : ''}`
}

// anchors are those that GitHub gives to the headings of a file.
function anchors(file) {
  const headings = readFileSync(file, 'utf8').matchAll(/^#+ +(.*?) *$/gm)
  return new Set([...headings].map(([, text]) => slug(text)))
}

// storyName finds what the commands of a story write, as docs/generate/site does.
const storyName = /--html[= ]([\w.-]+\.html)\b/

function story(page, commands) {
  const name = commands.match(storyName)?.[1]
  if (!name) throw new Error(`docs/${page}: a block after <!-- story --> has no --html NAME.html`)
  return `<figure class="story"><iframe src="/stories/${name}" title="The story ${name}" loading="lazy"></iframe>
<figcaption><a href="/stories/${name}" target="_blank">Open this story alone</a></figcaption></figure>\n`
}

// embedStories puts a story's page after each fenced block that follows <!-- story -->.
function embedStories({ tokens, env, Token }) {
  for (let i = tokens.length - 1; i > 0; i--) {
    if (tokens[i].type !== 'fence' || tokens[i - 1].content.trim() !== '<!-- story -->') continue
    const figure = new Token('html_block', '', 0)
    figure.content = story(env.relativePath, tokens[i].content)
    tokens.splice(i + 1, 0, figure)
  }
}

// each calls f with all tokens, also those in lines.
const each = (tokens, f) => tokens.forEach((token) => { f(token); each(token.children ?? [], f) })

function linkToGitHub({ tokens, env }) {
  each(tokens, (token) => {
    if (token.type !== 'link_open') return
    const address = onGitHub(env.relativePath, token.attrGet('href'))
    if (address) token.attrSet('href', address)
  })
}

// hideComments removes comments, which are directives of the tests.
function hideComments({ tokens }) {
  each(tokens, (token) => {
    if (token.type.startsWith('html_')) token.content = withoutComments(token.content)
  })
}

// fenceIndented makes indented code fenced code, which can be scrolled by keyboard, and copied.
function fenceIndented({ tokens }) {
  each(tokens, (token) => {
    if (token.type === 'code_block') Object.assign(token, { type: 'fence', info: 'text' })
  })
}

// labelCells gives each cell of a table the head of its column, which it shows on a telephone.
function labelCells({ tokens }) {
  let heads = [], column = 0
  tokens.forEach((token, i) => {
    if (token.type === 'table_open') heads = []
    if (token.type === 'tr_open') column = 0
    if (token.type === 'th_open') heads.push(tokens[i + 1].content.replaceAll('`', ''))
    if (token.type === 'td_open') token.attrSet('data-label', heads[column++])
  })
}

export function extend(md) {
  md.core.ruler.push('stories', embedStories)
  md.core.ruler.push('indented', fenceIndented)
  md.core.ruler.push('github', linkToGitHub)
  md.core.ruler.push('labels', labelCells)
  md.core.ruler.push('comments', hideComments)
  const { text } = md.renderer.rules // {{ is no template here
  md.renderer.rules.text = (...args) => text(...args).replaceAll('{{', '&#123;&#123;')
  md.renderer.rules.table_open = () => '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'
  md.renderer.rules.table_close = () => '</table></div>\n'
}
