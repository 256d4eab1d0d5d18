//! Whole screens, in three sizes, against golden files. UPDATE=1 writes them.

use jiff::{SignedDuration, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::ink::Ink;
use super::model::{Effect, Key, Model, Page, Talk};
use super::render::render;

mod cluster;
mod keys;
mod list;
mod screens;
#[cfg(target_os = "linux")]
mod terminal;

const SIZES: [(u16, u16); 3] = [(80, 24), (40, 20), (120, 40)];

/// The noon at which the rollouts of the tests begin, and some seconds.
fn at(second: i64) -> Timestamp {
    "2026-04-01T12:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(second)
}

/// The letters of a screen, and below them the look of each, and what is behind it.
fn drawn(buffer: &Buffer) -> String {
    let area = buffer.area;
    let rows = |of: &dyn Fn(&Cell) -> String| -> String {
        let row =
            |y| (0..area.width).map(|x| of(&buffer[(x, y)])).collect::<String>().trim_end().to_owned() + "\n";
        (0..area.height).map(row).collect()
    };
    let letters = rows(&|cell| cell.symbol().to_owned());
    let looks = rows(&|cell| {
        let is = |modifier| cell.modifier.contains(modifier);
        let looks = [(Modifier::REVERSED, '#'), (Modifier::BOLD, '*'), (Modifier::DIM, '-')];
        let plain = looks.into_iter().find(|(modifier, _)| is(*modifier)).map_or(' ', |(_, look)| look);
        color(cell.fg).unwrap_or(plain).to_string()
    });
    let behind = rows(&|cell| color(cell.bg).unwrap_or(' ').to_string());
    let line = "=".repeat(usize::from(area.width));
    format!("{letters}{line}\n{looks}{line}\n{behind}")
}

fn color(color: Color) -> Option<char> {
    match color {
        Color::Reset => None,
        Color::Blue => Some('b'),
        Color::Yellow => Some('y'),
        Color::Magenta => Some('m'),
        Color::Cyan => Some('c'),
        Color::Red => Some('r'),
        Color::Green => Some('g'),
        Color::LightBlue => Some('B'),
        Color::LightYellow => Some('Y'),
        Color::LightMagenta => Some('M'),
        Color::LightRed => Some('R'),
        other => panic!("{other:?} is no color of every terminal"),
    }
}

fn screen(size: (u16, u16), mut render: impl FnMut(&mut ratatui::Frame<'_>)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    terminal.draw(|frame| render(frame)).unwrap();
    terminal.backend().buffer().clone()
}

/// Compares the screens of a view with their files.
fn compare(name: &str, render: &dyn Fn(&mut ratatui::Frame<'_>)) {
    for size in SIZES {
        let found = drawn(&screen(size, render));
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/live/golden");
        let file = folder.join(format!("{name}-{}x{}.txt", size.0, size.1));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(found == expected, "{} differs (UPDATE=1 writes it):\n{found}", file.display());
    }
}
