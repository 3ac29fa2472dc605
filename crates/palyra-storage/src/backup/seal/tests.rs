use super::*;

fn sealed(content: &[u8]) -> Vec<u8> {
    let mut writer = SealingWriter::new(Vec::new());
    writer.write_all(content).unwrap();
    writer.seal().unwrap().0
}

fn read(file: &[u8]) -> Result<Vec<u8>, BackupError> {
    let (mut reader, mut content) = (SealedReader::new(file), Vec::new());
    reader.read_to_end(&mut content).unwrap();
    reader.check().map(|()| content)
}

#[test]
fn any_change_breaks_the_seal() {
    for content in [&b""[..], b"x", &[7; 20_000]] {
        let file = sealed(content);
        assert_eq!(read(&file).unwrap(), content);
        for at in (0..file.len()).rev().take(200) {
            let mut flipped = file.clone();
            flipped[at] ^= 1;
            assert!(read(&flipped).is_err(), "byte {at}");
            assert!(read(&file[..at]).is_err(), "cut at {at}");
        }
        assert!(read(&[&file[..], &[0]].concat()).is_err());
    }
}

#[test]
fn the_seal_is_an_empty_member_of_gzip() {
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(&sealed(b"")[..]).read_to_end(&mut content).unwrap();
    assert_eq!(content, b"");
}
